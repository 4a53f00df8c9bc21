package cache_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func ExampleNewMemory() {
	remote := cache.NewMemory() // or contrib/redis, over many processes
	server := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("the server is asked")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "an answer"}}}, nil
	})
	tool, _ := middleware.NewTool("crm", &mcp.Tool{Name: "get"}, stable(annotation.ReadOnly()))
	for range 2 {
		replica := cache.New(cache.Options{Remote: remote})(server)
		res, _ := replica.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{}`)})
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// the server is asked
	// an answer
	// an answer
}
