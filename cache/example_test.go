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
	list, err := middleware.NewTool("files", &mcp.Tool{Name: "list"}, annotation.Annotations{ReadOnly: annotation.Yes, Freshness: annotation.Shared})
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

// A write that names an entity ends only what is known of it, and the lists.
func ExampleNewStore() {
	server := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("server:", call.Tool.Name(), string(call.Arguments))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	read, err := middleware.NewTool("crm", &mcp.Tool{Name: "get_customer"}, annotation.Annotations{ReadOnly: annotation.Yes, Freshness: annotation.Shared})
	if err != nil {
		panic(err)
	}
	write, err := middleware.NewTool("crm", &mcp.Tool{Name: "rename_customer"}, annotation.Update())
	if err != nil {
		panic(err)
	}
	store := cache.NewStore(cache.StoreOptions{Entries: 10_000})
	caller := cache.New(cache.Options{
		Store: store,
		Entities: map[string][]string{
			"crm/get_customer":    {"id"},
			"crm/rename_customer": {"customer"},
		},
	})(server)
	for _, call := range []middleware.Call{
		{Tool: read, Arguments: []byte(`{"id":1}`)},
		{Tool: read, Arguments: []byte(`{"id":2}`)},
		{Tool: write, Arguments: []byte(`{"customer":2,"name":"Ann"}`)},
		{Tool: read, Arguments: []byte(`{"id":1}`)},
		{Tool: read, Arguments: []byte(`{"id":2}`)},
	} {
		if _, err := caller.CallTool(context.Background(), call); err != nil {
			panic(err)
		}
	}
	fmt.Println("hits:", store.Stats().Hits)
	fmt.Println("forgotten:", store.Forget("crm", "get_*"))
	// Output:
	// server: get_customer {"id":1}
	// server: get_customer {"id":2}
	// server: rename_customer {"customer":2,"name":"Ann"}
	// server: get_customer {"id":2}
	// hits: 1
	// forgotten: 2
}
