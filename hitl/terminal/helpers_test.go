package terminal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// A screen is what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func asks(tb testing.TB, arguments string) hitl.Request {
	tb.Helper()
	return hitl.Request{
		Tool: tool(tb, "delete", annotation.Destructive()), Arguments: json.RawMessage(arguments), Deadline: time.Now().Add(30 * time.Second),
	}
}
