// Command genkit is a Genkit flow whose tools are called through a chain.
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
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
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
	g := genkit.Init(ctx) // with the plugin of your model
	defined, err := define(g, host)
	if err != nil {
		log.Fatal(err)
	}
	reply, err := genkit.Generate(ctx, g, ai.WithPrompt("Cancel order A7."), ai.WithTools(defined...))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, reply.Text())
}

// define makes the host's tools known to Genkit. What fails is text, since an error of
// a tool would end the generation.
func define(g *genkit.Genkit, host *batch.Host) ([]ai.ToolRef, error) {
	var all []ai.ToolRef
	for _, tool := range host.Tools() {
		raw, err := json.Marshal(tool.Definition.InputSchema)
		var schema map[string]any
		if err == nil {
			err = json.Unmarshal(raw, &schema)
		}
		if err != nil {
			return nil, fmt.Errorf("the schema of %s: %w", tool, err)
		}
		all = append(all, genkit.DefineTool(g, tool.ModelName(), tool.Definition.Description, call(host, tool), ai.WithInputSchema(schema)))
	}
	return all, nil
}

func call(host *batch.Host, tool *middleware.Tool) ai.ToolFunc[any, string] {
	return func(ctx *ai.ToolContext, input any) (string, error) {
		arguments, err := json.Marshal(input)
		if err != nil {
			return "", err
		}
		return output.Text(host.Call(ctx, tool, "", arguments)), nil // Genkit does not tell the id of the call
	}
}
