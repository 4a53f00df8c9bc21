package hitl_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A read passes, a deletion is asked about.
func ExampleNew() {
	server := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("server:", call.Tool.Name())
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	ask := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		fmt.Printf("asked: %s %s\n", r.Tool, r.Arguments)
		return hitl.Decision{Reason: "archive it instead"}, nil
	})
	caller := hitl.New(ask, hitl.Options{})(server)
	for _, t := range []struct {
		name string
		a    annotation.Annotations
	}{{"list", annotation.ReadOnly()}, {"delete", annotation.Destructive()}} {
		tool, err := middleware.NewTool("files", &mcp.Tool{Name: t.name}, t.a)
		if err != nil {
			panic(err)
		}
		if _, err = caller.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"path":"a.txt"}`)}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// server: list
	// asked: files/delete {"path":"a.txt"}
	// hitl: files/delete was denied by the user: archive it instead
}

// In a sandbox that is thrown away afterwards nobody needs to be asked.
func ExampleDangerouslyApproveEveryCallWithoutAsking() {
	confirmer := hitl.DangerouslyApproveEveryCallWithoutAsking()
	decision, err := confirmer.Confirm(context.Background(), hitl.Request{})
	fmt.Println(decision.Verdict == hitl.Approved, decision.By, err)
	// Output: true nobody: every call is approved without asking <nil>
}

func ExampleTwoPeople() {
	ann := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
	})
	_, err := hitl.TwoPeople(ann, ann).Confirm(context.Background(), hitl.Request{})
	fmt.Println(err)
	// Output: it needs two people, and they have not given two names
}
