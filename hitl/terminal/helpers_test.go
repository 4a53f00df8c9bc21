package terminal_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var yes = hitl.Decision{Verdict: hitl.Approved}

func tool(tb testing.TB, name string, a annotation.Annotations) *middleware.Tool {
	tb.Helper()
	t, err := middleware.NewTool("files", &mcp.Tool{Name: name}, a.Attribute(annotation.Inferred, ""))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func deletes(tb testing.TB) middleware.Call {
	tb.Helper()
	return middleware.Call{ID: "call-1", Scope: "ann", Tool: tool(tb, "delete", annotation.Destructive()), Arguments: json.RawMessage(`{"path":"a.txt"}`)}
}

var done = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}

// An executor is behind the guard and counts its calls.
type executor struct{ calls atomic.Int64 }

func (e *executor) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	e.calls.Add(1)
	return done, nil
}

func (e *executor) want(tb testing.TB, executions int) {
	tb.Helper()
	if got := int(e.calls.Load()); got != executions {
		tb.Errorf("executed %d times, want %d", got, executions)
	}
}

// guarded returns the executor behind a guard that accepts each tool as it comes.
func guarded(e middleware.ToolCaller) middleware.ToolCaller {
	return guard.New(e, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil })
}
