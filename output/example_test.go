package output_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The model sees what the output schema names, and of an error what it can do.
func ExampleNew() {
	def := &mcp.Tool{Name: "get_customer", OutputSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"id": map[string]any{"type": "integer"}, "name": map[string]any{"type": "string"}},
	}}
	tool, err := middleware.NewTool("crm", def, annotation.ReadOnly())
	if err != nil {
		panic(err)
	}
	down := false
	server := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		if down {
			return nil, errors.New("dial postgres://admin:hunter2@10.0.0.7: connection refused")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: `{"id": 7, "name": "Ada", "internalNotes": "owes us money"}`},
		}}, nil
	})
	caller := output.New(output.Options{})(server)
	for _, down = range []bool{false, true} {
		res, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool})
		if err != nil {
			panic(err)
		}
		fmt.Println(res.IsError, res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// false {"id":7,"name":"Ada"}
	// true crm__get_customer failed. Try other arguments or another tool, or tell the user that it does not work.
}

// A server's list, as the model should see it.
func ExampleResources() {
	listed := []*mcp.Resource{
		{URI: "doc:trivia", Annotations: annotation.Content{Priority: new(0.1)}.MCP()},
		{URI: "doc:handbook", Annotations: annotation.Content{Audience: []mcp.Role{"user"}}.MCP()},
		{URI: "doc:schema"},
	}
	resources, err := output.Resources(listed, "assistant")
	if err != nil {
		panic(err)
	}
	for _, r := range resources {
		fmt.Println(r.URI)
	}
	// Output:
	// doc:schema
	// doc:trivia
}

func ExampleResourceTemplates() {
	listed := []*mcp.ResourceTemplate{
		{URITemplate: "photo:{day}", Annotations: annotation.Content{Audience: []mcp.Role{"user"}}.MCP()},
		{URITemplate: "log:{day}"},
	}
	templates, err := output.ResourceTemplates(listed, "assistant")
	if err != nil {
		panic(err)
	}
	for _, r := range templates {
		fmt.Println(r.URITemplate)
	}
	// Output:
	// log:{day}
}
