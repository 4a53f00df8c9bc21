package hitl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// numbered is a call that is like no other.
func numbered(tb testing.TB, i int) middleware.Call {
	tb.Helper()
	call := deletes(tb)
	call.Arguments = fmt.Appendf(nil, `{"path":"%d.txt"}`, i)
	return call
}

var done = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}

// An executor stands behind the guard and records what it was given.
type executor struct {
	mu    sync.Mutex
	calls []middleware.Call
	do    func(n int) (*mcp.CallToolResult, error)
}

func (e *executor) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	e.mu.Lock()
	e.calls = append(e.calls, call)
	n := len(e.calls)
	e.mu.Unlock()
	if e.do != nil {
		return e.do(n)
	}
	return done, nil
}

func (e *executor) want(tb testing.TB, executions int) {
	tb.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if got := len(e.calls); got != executions {
		tb.Errorf("executed %d times, want %d", got, executions)
	}
}

// guarded returns the executor behind a guard that accepts each tool as it comes.
func guarded(e middleware.ToolCaller) middleware.ToolCaller {
	return guard.New(e, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil })
}

// A person answers every question alike and counts them.
type person struct {
	asked    atomic.Int64
	decision hitl.Decision
}

func (p *person) Confirm(context.Context, hitl.Request) (hitl.Decision, error) {
	p.asked.Add(1)
	return p.decision, nil
}

func (p *person) want(tb testing.TB, questions int64) {
	tb.Helper()
	if got := p.asked.Load(); got != questions {
		tb.Errorf("asked %d times, want %d", got, questions)
	}
}

func agreeable() *person { return &person{decision: hitl.Decision{Verdict: hitl.Approved}} }

// wantDenied checks an error that ends a call for want of a yes.
func wantDenied(tb testing.TB, res *mcp.CallToolResult, err error) *hitl.DeniedError {
	tb.Helper()
	denied, ok := errors.AsType[*hitl.DeniedError](err)
	if !ok || res != nil || !errors.Is(err, hitl.ErrDenied) {
		tb.Fatalf("got %v and error %v, want a DeniedError", res, err)
	}
	if !middleware.NotSent(err) || !middleware.Permanent(err) {
		tb.Errorf("%v: not sent %t, permanent %t, want both", err, middleware.NotSent(err), middleware.Permanent(err))
	}
	return denied
}

var yes = hitl.Decision{Verdict: hitl.Approved}
