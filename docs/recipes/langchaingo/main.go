// Command langchaingo is a loop over langchaingo's models whose calls go through a chain.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/batch"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/output"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/ollama"
)

type order struct {
	ID string `json:"id"`
}

func cancel(_ context.Context, o order) (string, error) { return o.ID + " is cancelled", nil }

func main() {
	tools := catalog.New(catalog.Options{})
	if err := tools.AddFuncs("shop", gofunc.New("cancel_order", "Cancels an order.", annotation.Destructive(), cancel)); err != nil {
		log.Fatal(err)
	}
	people := hitl.New(terminal.New(os.Stdin, os.Stderr), hitl.Options{})
	host := batch.NewHost(tools, chain.Standard{Confirm: people, Output: output.New(output.Options{})}.Then(tools), batch.HostOptions{})

	model, err := ollama.New(ollama.WithModel("qwen3"))
	if err != nil {
		log.Fatal(err)
	}
	text, err := talk(context.Background(), model, host, "Cancel order A7.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, text)
}

// talk asks the model until it asks for nothing more.
func talk(ctx context.Context, model llms.Model, host *batch.Host, goal string) (string, error) {
	var tools []llms.Tool
	for _, tool := range host.Tools() {
		tools = append(tools, llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
			Name: tool.ModelName(), Description: tool.Definition.Description, Parameters: tool.Definition.InputSchema,
		}})
	}
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, goal)}
	for {
		reply, err := model.GenerateContent(ctx, messages, llms.WithTools(tools))
		if err != nil {
			return "", err
		}
		choice := reply.Choices[0]
		if len(choice.ToolCalls) == 0 {
			return choice.Content, nil
		}
		asked := llms.MessageContent{Role: llms.ChatMessageTypeAI}
		var requests []batch.ToolCall
		for _, c := range choice.ToolCalls {
			asked.Parts = append(asked.Parts, c)
			requests = append(requests, batch.ToolCall{ID: c.ID, Name: c.FunctionCall.Name, Arguments: json.RawMessage(c.FunctionCall.Arguments)})
		}
		messages = append(messages, asked)
		for i, res := range host.Answer(ctx, requests...) {
			messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
				llms.ToolCallResponse{ToolCallID: requests[i].ID, Name: requests[i].Name, Content: output.Text(res)},
			}})
		}
	}
}
