package cache_test

import (
	"context"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The second read is answered from memory. The write is made, and ends what was
// known of its server.
func ExampleNew() {
	server := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("server:", call.Tool.Name())
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	list, err := middleware.NewTool("files", &mcp.Tool{Name: "list"}, annotation.ReadOnly())
	if err != nil {
		panic(err)
	}
	add, err := middleware.NewTool("files", &mcp.Tool{Name: "add"}, annotation.Write())
	if err != nil {
		panic(err)
	}
	caller := cache.New(cache.Options{})(server)
	for _, tool := range []*middleware.Tool{list, list, add, list} {
		fmt.Println("call:", tool.Name())
		if _, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool}); err != nil {
			panic(err)
		}
	}
	// Output:
	// call: list
	// server: list
	// call: list
	// call: add
	// server: add
	// call: list
	// server: list
}
