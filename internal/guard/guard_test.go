package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func tool(tb testing.TB, name string, a annotation.Annotations) *middleware.Tool {
	tb.Helper()
	t, err := middleware.NewTool("files", &mcp.Tool{Name: name}, a)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func deletes(tb testing.TB) middleware.Call {
	tb.Helper()
	return middleware.Call{Scope: "ann", Tool: tool(tb, "delete", annotation.Destructive()), Arguments: json.RawMessage(`{"path":"a.txt"}`)}
}

// An executor counts its calls and answers with err.
type executor struct {
	calls atomic.Int64
	err   error
	do    func(ctx context.Context, call middleware.Call)
}

var done = new(mcp.CallToolResult)

func (e *executor) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	e.calls.Add(1)
	if e.do != nil {
		e.do(ctx, call)
	}
	if e.err != nil {
		return nil, e.err
	}
	return done, nil
}

func (e *executor) want(tb testing.TB, executions int64) {
	tb.Helper()
	if got := e.calls.Load(); got != executions {
		tb.Errorf("executed %d times, want %d", got, executions)
	}
}

// as accepts every call as one of the tool given.
func as(tool *middleware.Tool) guard.Accepted {
	return func(context.Context, middleware.Call) (*middleware.Tool, error) { return tool, nil }
}

func give(ctx context.Context, call middleware.Call) (context.Context, *callstate.Grant) {
	return callstate.WithGrant(ctx, &call, annotation.Dangerous, 5*time.Minute, nil)
}

func TestGuardRefusesUnapprovedCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a    annotation.Annotations
		runs bool
		text string
	}{
		{"safe", annotation.ReadOnly(), true, ""},
		{"moderate", annotation.Write(), true, ""},
		{"dangerous", annotation.Destructive(), false, "files/tool was refused: it is dangerous and nobody approved it"},
		{"needs confirmation", annotation.Annotations{ReadOnly: annotation.Yes, RequiresConfirmation: annotation.Yes}, false, "it is dangerous"},
		{"unknown", annotation.Annotations{}, false, "files/tool was refused: nothing is known about what it does"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, on := new(executor), tool(t, "tool", tt.a)
			res, err := guard.New(e, as(on)).CallTool(t.Context(), middleware.Call{Tool: on})
			if tt.runs {
				e.want(t, 1)
				if res != done || err != nil {
					t.Errorf("got %v and error %v", res, err)
				}
				return
			}
			e.want(t, 0)
			if res != nil || !errors.Is(err, guard.ErrRefused) || !middleware.NotSent(err) || !middleware.Permanent(err) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v and error %v, want a final refusal with %q", res, err, tt.text)
			}
		})
	}
}

// The class is the accepted tool's, whatever the call carries.
func TestLessStrictCopyOfAToolGainsNothing(t *testing.T) {
	t.Parallel()
	accepted := tool(t, "delete", annotation.Destructive())
	kinder := *accepted
	kinder.Annotations = annotation.ReadOnly()
	e := new(executor)
	_, err := guard.New(e, as(accepted)).CallTool(t.Context(), middleware.Call{Tool: &kinder})
	if !errors.Is(err, guard.ErrRefused) {
		t.Errorf("got error %v", err)
	}
	e.want(t, 0)

	// A stricter copy gains nothing either, and the executor gets the accepted one.
	safe := tool(t, "list", annotation.ReadOnly())
	sterner := *safe
	sterner.Annotations = annotation.Destructive()
	e = &executor{do: func(_ context.Context, call middleware.Call) {
		if call.Tool != safe {
			t.Error("the executor got another tool than the accepted one")
		}
	}}
	if _, err := guard.New(e, as(safe)).CallTool(t.Context(), middleware.Call{Tool: &sterner}); err != nil {
		t.Error(err)
	}
	e.want(t, 1)
}

// A call waits until each announced change was read, and is then of the tool as it is now, whether a person approved it or
// nobody has to.
func TestApprovedCallWaitsForAnnouncedChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		is       annotation.Annotations
		approved bool
		passed   int // checks, before the change is announced
	}{
		{annotation.ReadOnly(), true, 0},
		{annotation.Update(), true, 0},
		{annotation.Destructive(), true, 0},
		{annotation.Update(), true, 1}, // while the use of the approval is recorded
		{annotation.Destructive(), true, 1},
		{annotation.ReadOnly(), false, 0},
		{annotation.Update(), false, 0},
	} {
		its := deletes(t)
		its.Tool = tool(t, "delete", tt.is)
		checks, read, e := 0, false, new(executor)
		g := guard.For(func(context.Context, middleware.Call) (guard.Target, error) {
			return guard.Target{
				Tool: its.Tool, Next: e,
				Current: func() bool { checks++; return checks <= tt.passed || read },
				Settle:  func(context.Context) error { read = true; return nil },
			}, nil
		})
		ctx := t.Context()
		if tt.approved {
			ctx, _ = give(ctx, its)
		}
		if _, err := g.CallTool(ctx, its); err != nil || !read {
			t.Errorf("%+v: got error %v; the change was read: %v", tt, err, read)
		}
		e.want(t, 1)
	}
}

func TestGuardedCallOfADoneContextIsGivenUp(t *testing.T) {
	t.Parallel()
	gone := errors.New("the caller has gone")
	its, e := deletes(t), new(executor)
	ctx, _ := give(t.Context(), its)
	over, cancel := context.WithCancelCause(ctx)
	cancel(gone)
	if _, err := guard.New(e, as(its.Tool)).CallTool(over, its); !errors.Is(err, gone) || !middleware.NotSent(err) {
		t.Errorf("B311: got error %v", err)
	}
	e.want(t, 0)
	if !callstate.Covers(ctx, &its) {
		t.Error("the approval was used up")
	}
}

// A call that crossed the chain as a read is not made as a write: what only writes are asked about, nobody was.
func TestReadThatHasBecomeAWriteIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		judged, now annotation.Annotations
		runs        bool
	}{
		{"still a read", annotation.ReadOnly(), annotation.ReadOnly(), true},
		{"a write since", annotation.ReadOnly(), annotation.Write(), false},
		{"a write before", annotation.Write(), annotation.Write(), true},
		{"a read since", annotation.Write(), annotation.ReadOnly(), true},
		{"dangerous before", annotation.Destructive(), annotation.Write(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, accepted := new(executor), tool(t, "tool", tt.now)
			began := *accepted
			began.Annotations = tt.judged
			_, err := guard.New(e, as(accepted)).CallTool(t.Context(), middleware.Call{Tool: &began})
			if tt.runs {
				e.want(t, 1)
				if err != nil {
					t.Error(err)
				}
				return
			}
			e.want(t, 0)
			const want = "fairlead: files/tool was refused: it is moderate and it was safe when the call began; " +
				"make the call again, so that it is judged as what it is now"
			if err == nil || err.Error() != want || !errors.Is(err, guard.ErrRefused) || !middleware.NotSent(err) {
				t.Errorf("got error %v, want %q", err, want)
			}
			if told := middleware.ForModel(err); told != accepted.ModelName()+" was not called: what it does has changed since the call began; call it again." {
				t.Errorf("the model is told %q", told)
			}
		})
	}
}

func TestGuardRefusesWhatIsNotAccepted(t *testing.T) {
	t.Parallel()
	foreign := errors.New("no such tool")
	e := new(executor)
	its := deletes(t)
	ctx, _ := give(t.Context(), its)
	_, err := guard.New(e, func(context.Context, middleware.Call) (*middleware.Tool, error) { return nil, foreign }).CallTool(ctx, its)
	if !errors.Is(err, foreign) {
		t.Errorf("got error %v", err)
	}
	for name, its := range map[string]middleware.Call{"no tool": {}, "no definition": {Tool: new(middleware.Tool)}} {
		if _, err := guard.Classified(e).CallTool(ctx, its); !errors.Is(err, guard.ErrRefused) || !strings.Contains(err.Error(), "names no tool") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	e.want(t, 0)
}

func TestGuardNeedsAnExecutor(t *testing.T) {
	t.Parallel()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "a guard needs an executor") {
			t.Errorf("got panic %q", got)
		}
	}()
	guard.Classified(nil)
}

// Without a catalog the class is the inferred one, for exactly this definition.
func TestClassIsTheOneThatInferenceGave(t *testing.T) {
	t.Parallel()
	safe := tool(t, "list", annotation.ReadOnly())
	dangerous := tool(t, "delete", annotation.Destructive())
	change := func(tool *middleware.Tool, f func(*middleware.Tool)) *middleware.Tool {
		other := *tool
		f(&other)
		return &other
	}
	classes := func(tools ...*middleware.Tool) func(context.Context) context.Context {
		return func(ctx context.Context) context.Context {
			for _, tool := range tools {
				ctx = callstate.WithClass(ctx, tool)
			}
			return ctx
		}
	}
	kinder := change(dangerous, func(t *middleware.Tool) { t.Annotations = annotation.ReadOnly() })
	for _, tt := range []struct {
		name    string
		classed func(context.Context) context.Context
		tool    *middleware.Tool
		runs    bool
	}{
		{"classed as safe", classes(safe), safe, true},
		{"classed as dangerous", classes(dangerous), dangerous, false},
		{"never classed", classes(), safe, false},
		{"another tool was classed", classes(safe), tool(t, "read", annotation.ReadOnly()), false},
		{"another server", classes(safe), change(safe, func(t *middleware.Tool) { t.Server = "mail" }), false},
		{"another definition", classes(safe), change(safe, func(t *middleware.Tool) { t.Definition = dangerous.Definition }), false},
		{"another digest", classes(safe), change(safe, func(t *middleware.Tool) { t.Digest = dangerous.Digest }), false},
		{"a kinder copy", classes(dangerous), kinder, false},
		{"a less strict copy of a tool that was never classified", classes(), kinder, false},
		{"a less strict copy, classified further in", classes(dangerous, kinder), kinder, false},
		{"a less strict definition, classified further in", classes(dangerous, tool(t, "delete", annotation.ReadOnly())), kinder, false},
		{"a stricter copy, classified further in", classes(kinder, dangerous), kinder, false},
		{"another tool, classed further in", classes(dangerous, safe), safe, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := new(executor)
			_, err := guard.Classified(e).CallTool(tt.classed(t.Context()), middleware.Call{Tool: tt.tool})
			if got := err == nil; got != tt.runs {
				t.Errorf("executed: got %t, want %t (%v)", got, tt.runs, err)
			}
		})
	}
}

// The annotations of a tool count if inference has classified it further out. The error has that step, unless the tool
// states nothing, or an approval is what is missing.
func TestRefusalNamesInferenceWhereAnnotationsDoNotCount(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"read": true, "write": true, "delete": false, "silent": false} {
		its := tool(t, name, map[string]annotation.Annotations{"read": annotation.ReadOnly(), "write": annotation.Write(), "delete": annotation.Destructive()}[name])
		_, err := guard.Classified(new(executor)).CallTool(t.Context(), middleware.Call{Tool: its})
		if !errors.Is(err, guard.ErrRefused) || strings.Contains(err.Error(), "infer.New") != want || strings.Contains(err.Error(), "hitl.New") == want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestGuardCostsNextToNothingForASafeCall(t *testing.T) {
	its := middleware.Call{Tool: tool(t, "list", annotation.ReadOnly())}
	g := guard.New(new(executor), as(its.Tool))
	ctx := t.Context()
	if got := testing.AllocsPerRun(100, func() { _, _ = g.CallTool(ctx, its) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
