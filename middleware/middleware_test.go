package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRecoverIsAGoodCitizen(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, chain.Recover())
}

// Six links deep, a call that travels by value costs no allocation.
func TestCallCostsNoAllocation(t *testing.T) { // not parallel: it counts allocations
	result := &mcp.CallToolResult{}
	var caller middleware.ToolCaller = middleware.ToolCallerFunc(
		func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return result, nil })
	for range 6 {
		caller = chain.Recover()(caller)
	}
	call := middleware.Call{ID: "1", Tool: tool(annotation.ReadOnly()), Arguments: json.RawMessage(`{}`)}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _, _ = caller.CallTool(ctx, call) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleToolCallerFunc() {
	var caller middleware.ToolCaller = middleware.ToolCallerFunc(
		func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello, " + call.Scope}}}, nil
		})
	res, err := caller.CallTool(context.Background(), middleware.Call{Scope: "ann"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if text, ok := res.Content[0].(*mcp.TextContent); ok {
		fmt.Println(text.Text)
	}
	// Output: hello, ann
}
