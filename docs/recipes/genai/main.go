// Command genai is a loop over google.golang.org/genai whose calls go through a chain.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/output"
	"google.golang.org/genai"
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

	ctx := context.Background()
	client, err := genai.NewClient(ctx, nil) // GEMINI_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	text, err := talk(ctx, client.Models, host, "Cancel order A7.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, text)
}

// models is what a talk needs of the client.
type models interface {
	GenerateContent(ctx context.Context, model string, contents []*genai.Content, config *genai.GenerateContentConfig) (*genai.GenerateContentResponse, error)
}

// talk asks the model until it asks for nothing more.
func talk(ctx context.Context, models models, host *batch.Host, goal string) (string, error) {
	config, contents := &genai.GenerateContentConfig{Tools: declare(host)}, genai.Text(goal)
	for {
		reply, err := models.GenerateContent(ctx, "gemini-2.5-flash", contents, config)
		if err != nil {
			return "", err
		}
		calls := reply.FunctionCalls()
		if len(calls) == 0 {
			return reply.Text(), nil
		}
		answers, err := answer(ctx, host, calls)
		if err != nil {
			return "", err
		}
		contents = append(contents, reply.Candidates[0].Content, genai.NewContentFromParts(answers, genai.RoleUser))
	}
}

// declare returns the tools as the API takes them.
func declare(host *batch.Host) []*genai.Tool {
	var declared []*genai.FunctionDeclaration
	for _, tool := range host.Tools() {
		declared = append(declared, &genai.FunctionDeclaration{
			Name: tool.ModelName(), Description: tool.Definition.Description, ParametersJsonSchema: tool.Definition.InputSchema,
		})
	}
	return []*genai.Tool{{FunctionDeclarations: declared}}
}

// answer makes the calls of one turn. The SDK has decoded the arguments into float64: a whole number past 2^53 may be
// another one than the model wrote. Such a call is not made, and the model reads how to send it.
func answer(ctx context.Context, host *batch.Host, calls []*genai.FunctionCall) ([]*genai.Part, error) {
	parts := make([]*genai.Part, len(calls))
	respond := func(i int, key, text string) {
		parts[i] = genai.NewPartFromFunctionResponse(calls[i].Name, map[string]any{key: text})
		parts[i].FunctionResponse.ID = calls[i].ID
	}
	var requests []batch.ToolCall
	var places []int // of the requests in calls
	for i, c := range calls {
		if rounded(c.Args) {
			respond(i, "error", c.Name+" was not called: a whole number of its arguments is past 2^53 and may have lost digits. Send it as a text, if the tool takes one.")
			continue
		}
		arguments, err := json.Marshal(c.Args)
		if err != nil {
			return nil, err
		}
		if c.Args == nil {
			arguments = nil
		}
		requests = append(requests, batch.ToolCall{ID: c.ID, Name: c.Name, Arguments: arguments})
		places = append(places, i)
	}
	for i, res := range host.Answer(ctx, requests...) {
		respond(places[i], map[bool]string{false: "output", true: "error"}[res.IsError], output.Text(res))
	}
	return parts, nil
}

// rounded reports whether a value has a whole number that a float64 may have rounded.
func rounded(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) >= 1<<53 && v == math.Trunc(v)
	case []any:
		return slices.ContainsFunc(v, rounded)
	case map[string]any:
		for _, member := range v {
			if rounded(member) {
				return true
			}
		}
	}
	return false
}
