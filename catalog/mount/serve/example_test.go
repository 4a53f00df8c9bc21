package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server of ours says what a call of its tool would do.
func ExampleResolve() {
	tool := annotation.Declare(&mcp.Tool{
		Name:        "manage_files",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"action":{"type":"string"}}}`),
	}, annotation.Destructive()) // the worst that it can do
	server := mcp.NewServer(&mcp.Implementation{Name: "files"}, nil)
	server.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	err := serve.Resolve(server, serve.Resolvable{
		Tool: tool,
		Answers: map[string]annotation.Annotations{
			"read": annotation.ReadOnly(), "append": annotation.Write(), "delete": annotation.Destructive(),
		},
		Choose: func(arguments json.RawMessage) string {
			var a struct{ Action string }
			if json.Unmarshal(arguments, &a) != nil {
				return ""
			}
			return a.Action
		},
	})
	fmt.Println(err)
	// Output: <nil>
}

// A handler of the SDK is guarded by the chain in front of it.
func ExampleToolHandler() {
	tool, err := middleware.NewTool("files", &mcp.Tool{
		Name: "delete_file", InputSchema: json.RawMessage(`{"type":"object"}`),
	}, annotation.Destructive())
	if err != nil {
		panic(err)
	}
	handler := serve.ToolHandler(tool, chain.Standard{}.Middleware(), nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Println("deleted")
		return &mcp.CallToolResult{}, nil
	})
	_, err = handler(context.Background(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "delete_file"}})
	fmt.Println(errors.Is(err, chain.ErrRefused))
	// Output: true
}
