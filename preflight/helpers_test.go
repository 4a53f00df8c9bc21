package preflight_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// act returns a tool of the server "files" with the annotations, which its server
// declares as well where declared is true.
func act(t testing.TB, a annotation.Annotations, declared bool) *middleware.Tool {
	t.Helper()
	def := &mcp.Tool{Name: "act", InputSchema: json.RawMessage(`{"type":"object"}`)}
	if declared {
		def = annotation.Declare(def, a)
		a = a.Attribute(annotation.Declared, "files")
	} else {
		a = a.Attribute(annotation.Inferred, "")
	}
	tool, err := middleware.NewTool("files", def, a)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// An outcome is what became of one call.
type outcome struct {
	class annotation.Safety // that it went on with
	tool  *middleware.Tool
	ran   bool // past the guard, which has the static tool and no approval
	note  callstate.Record
	err   error
}

// classify returns the tool as the middleware classifies it with the call's arguments.
func classify(ctx context.Context, m middleware.Middleware, call middleware.Call) (*middleware.Tool, error) {
	return callstate.JudgeBy(m)(ctx, call)
}

// judged sends a call through the middleware and on to a guard.
func judged(ctx context.Context, j middleware.Middleware, call middleware.Call) (o outcome) {
	static := call.Tool
	n := callstate.Begin(ctx)
	ctx = n
	executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		o.ran = true
		return &mcp.CallToolResult{}, nil
	})
	guard := guard.New(executor, func(context.Context, middleware.Call) (*middleware.Tool, error) { return static, nil })
	between := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		o.tool, o.class = call.Tool, call.Tool.Safety()
		return guard.CallTool(ctx, call)
	})
	_, o.err = j(between).CallTool(ctx, call)
	o.note = n.Record()
	return o
}

// check compares the class, and that the guard saw the same.
func (o outcome) check(t testing.TB, name string, want annotation.Safety) {
	t.Helper()
	if o.tool == nil {
		t.Errorf("%s: the call did not go on: %v", name, o.err)
		return
	}
	refused := errors.Is(o.err, guard.ErrRefused)
	if o.class != want || o.ran == want.MustConfirm() || refused != want.MustConfirm() {
		t.Errorf("%s: %v, ran %v, error %v; want %v\n%s", name, o.class, o.ran, o.err, want, o.tool.Explain())
	}
}

// A resolver answers as the test sets, and counts.
type resolver struct {
	asked  int
	answer func(ctx context.Context, call middleware.Call) (annotation.Annotations, bool, error)
}

func (r *resolver) Resolve(ctx context.Context, call middleware.Call) (annotation.Annotations, bool, error) {
	r.asked++
	return r.answer(ctx, call)
}

// says returns a resolver that always gives the same answer.
func says(a annotation.Annotations) *resolver {
	return &resolver{answer: func(context.Context, middleware.Call) (annotation.Annotations, bool, error) { return a, true, nil }}
}

func fails(err error) *resolver {
	return &resolver{answer: func(context.Context, middleware.Call) (annotation.Annotations, bool, error) {
		return annotation.Annotations{}, true, err
	}}
}

type mcpResult = mcp.CallToolResult

func everyone(string) bool { return true }

// hints reads four letters: read-only, destructive, idempotent, open-world, each y, n
// or -.
func hints(word string) annotation.Annotations {
	of := func(i int) annotation.Hint {
		return map[byte]annotation.Hint{'y': annotation.Yes, 'n': annotation.No, '-': annotation.Unset}[word[i]]
	}
	return annotation.Annotations{ReadOnly: of(0), Destructive: of(1), Idempotent: of(2), OpenWorld: of(3)}
}
