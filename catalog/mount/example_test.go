package mount_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host that has a session, and neither a catalog nor anyone to ask.
func ExampleSession() {
	session := connect(newBackend().server) // the MCP Go SDK, as always
	caller := chain.Standard{Infer: infer.New(infer.Options{})}.Then(mount.Session(session))

	for _, name := range []string{"list_notes", "delete_file"} {
		tool, err := middleware.NewTool("files", &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, unsaid)
		if err != nil {
			panic(err)
		}
		res, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// list_notes{}
	// fairlead: files/delete_file was refused: it is dangerous and nobody approved it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads
}

// A host of its own: the session's tools are in a catalog, and calls go through a chain in front of it.
func ExampleConnect() {
	ctx := context.Background()
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	theirs, ours := mcp.NewInMemoryTransports() // or &mcp.CommandTransport{Command: exec.Command(…)}
	if _, err := newBackend().server.Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	session, err := mount.Connect(ctx, tools, "files", &mcp.Implementation{Name: "host", Version: "1"}, ours)
	if err != nil {
		panic(err)
	}
	defer session.Close()

	caller := chain.Standard{}.Then(tools)
	for _, name := range []string{"list_notes", "delete_file"} {
		tool, _ := tools.Lookup("files", name)
		res, err := caller.CallTool(ctx, middleware.Call{Tool: tool})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(output.Text(res))
	}
	// Output:
	// list_notes{}
	// fairlead: files/delete_file was refused: it is dangerous and nobody approved it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads
}

// Code that holds a session gets the chain without a change.
func ExampleClient() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	tools := catalog.New(catalog.Options{})
	safely := chain.Standard{Confirm: hitl.New(nil, hitl.Options{}), Cache: cache.New(cache.Options{})}.Middleware()
	mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "files", safely })

	backend := newBackend()
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := backend.server.Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	session, err := client.Connect(ctx, ours, nil)
	if err != nil {
		panic(err)
	}
	if err := tools.Add(ctx, "files", session); err != nil {
		panic(err)
	}

	for _, name := range []string{"list_notes", "list_notes", "delete_file"} {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name})
		if err != nil {
			fmt.Println("denied:", errors.Is(err, hitl.ErrDenied))
			continue
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	fmt.Println("executed:", backend.calls)
	// Output:
	// list_notes{}
	// list_notes{}
	// denied: true
	// executed: [list_notes{}]
}
