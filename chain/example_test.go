package chain_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host that has a session of the MCP Go SDK, and wants it safe. It adds one middleware of its
// own, at two places, and prints the events in order.
func Example() {
	ctx := context.Background()
	session := connect(ctx) // the MCP Go SDK, as always

	say := func(place string) middleware.Middleware {
		return func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				fmt.Printf("  %s: %s is %s\n", place, call.Tool.Name(), call.Tool.Safety())
				return next.CallTool(ctx, call)
			})
		}
	}
	ask := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		fmt.Printf("  asked: %s %s\n", r.Tool, r.Arguments)
		return hitl.Decision{Verdict: hitl.Approved}, nil
	})

	tools := catalog.New(catalog.Options{})
	if err := tools.Add(ctx, "files", session); err != nil {
		panic(err)
	}
	caller := chain.Standard{
		Outermost:  []middleware.Middleware{say("host")},
		PerAttempt: []middleware.Middleware{say("attempt")},
		Confirm:    hitl.New(ask, hitl.Options{}),
		Cache:      cache.New(cache.Options{}),
		Retry:      retry.New(retry.Options{}),
	}.Then(tools)

	for _, name := range []string{"list_notes", "list_notes", "delete_file", "list_notes"} {
		fmt.Println(name)
		tool, _ := tools.Lookup("files", name)
		res, err := caller.CallTool(ctx, middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"path":"a.txt"}`)})
		if err != nil {
			panic(err)
		}
		fmt.Println("  answer:", res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// list_notes
	//   host: list_notes is safe
	//   attempt: list_notes is safe
	//   server: list_notes
	//   answer: done
	// list_notes
	//   host: list_notes is safe
	//   answer: done
	// delete_file
	//   host: delete_file is dangerous
	//   asked: files/delete_file {"path":"a.txt"}
	//   attempt: delete_file is dangerous
	//   server: delete_file
	//   answer: done
	// list_notes
	//   host: list_notes is safe
	//   attempt: list_notes is safe
	//   server: list_notes
	//   answer: done
}

// connect returns a session with a server of two tools that declares nothing.
func connect(ctx context.Context) *mcp.ClientSession {
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	for name, description := range map[string]string{
		"list_notes":  "List the files of a folder.",
		"delete_file": "Delete a file.",
	} {
		server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				fmt.Println("  server:", name)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
			})
	}
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		panic(err)
	}
	return session
}

// A retry outside the confirmation asks again for each attempt.
func ExampleVerify() {
	nobody := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil })
	for _, problem := range chain.Verify(chain.New(retry.New(retry.Options{}), hitl.New(nobody, hitl.Options{}))) {
		fmt.Println(problem)
	}
	// Output:
	// retry is outside hitl: a person is asked again for each attempt; put hitl further out
}
