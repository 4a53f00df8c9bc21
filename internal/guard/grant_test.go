package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestGrantIsBoundToExactlyWhatWasShown(t *testing.T) {
	t.Parallel()
	base := deletes(t)
	for _, tt := range []struct {
		name   string
		change func(*middleware.Call)
		covers bool
	}{
		{"nothing changed", func(*middleware.Call) {}, true},
		{"another call ID", func(c *middleware.Call) { c.ID = "2" }, true},
		{"other annotations", func(c *middleware.Call) {
			other := *c.Tool
			other.Annotations = annotation.Annotations{}
			c.Tool = &other
		}, true},
		{"scope", func(c *middleware.Call) { c.Scope = "bob" }, false},
		{"no scope", func(c *middleware.Call) { c.Scope = "" }, false},
		{"arguments", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"b.txt"}`) }, false},
		{"a space in the arguments", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path": "a.txt"}`) }, false},
		{"server", func(c *middleware.Call) { other := *c.Tool; other.Server = "mail"; c.Tool = &other }, false},
		{"name", func(c *middleware.Call) { other := *c.Tool; other.Definition = &mcp.Tool{Name: "x"}; c.Tool = &other }, false},
		{"digest", func(c *middleware.Call) { other := *c.Tool; other.Digest[31]++; c.Tool = &other }, false},
		{"a byte moved from the scope to the arguments", func(c *middleware.Call) {
			c.Scope, c.Arguments = "an", json.RawMessage(`n{"path":"a.txt"}`)
		}, false},
		{"a byte moved from the name to the server", func(c *middleware.Call) {
			other := *c.Tool
			other.Server, other.Definition = "filesd", &mcp.Tool{Name: "elete"}
			c.Tool = &other
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			changed := base
			tt.change(&changed)
			ctx, _ := give(t.Context(), base)
			if got := callstate.Covers(ctx, &changed); got != tt.covers {
				t.Errorf("covers: got %t, want %t", got, tt.covers)
			}
			e := new(executor)
			sterner := *changed.Tool
			sterner.Annotations = annotation.Destructive()
			_, err := guard.New(e, as(&sterner)).CallTool(ctx, changed)
			if got := err == nil; got != tt.covers {
				t.Errorf("executed: got %t, want %t (%v)", got, tt.covers, err)
			}
		})
	}
}

func TestGrantIsGoodForOneHandOver(t *testing.T) {
	t.Parallel()
	its := deletes(t)
	e := new(executor)
	g := guard.New(e, as(its.Tool))
	ctx, _ := give(t.Context(), its)
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, err := g.CallTool(ctx, its); errors.Is(err, guard.ErrRefused) {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	e.want(t, 1)
	if refused.Load() != 199 {
		t.Errorf("%d refused, want 199", refused.Load())
	}
	if callstate.Covers(ctx, &its) {
		t.Error("a spent grant still covers")
	}
}

// An approval is good for one execution, although the host has lowered the class since the person was asked. A read
// may be repeated.
func TestGrantIsGoodForOneExecutionWhateverTheClassIsByThen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		lowered annotation.Annotations
		runs    int64
	}{{annotation.Update(), 1}, {annotation.Write(), 1}, {annotation.ReadOnly(), 2}} {
		its := deletes(t)
		e := new(executor)
		g := guard.New(e, as(tool(t, "delete", tt.lowered)))
		ctx, _ := give(t.Context(), its)
		if _, err := g.CallTool(ctx, its); err != nil {
			t.Fatal(err)
		}
		if _, err := g.CallTool(ctx, its); (err == nil) != (tt.runs == 2) || err != nil && !errors.Is(err, guard.ErrRefused) {
			t.Errorf("%v: got error %v", tt.lowered, err)
		}
		e.want(t, tt.runs)
	}
}

// Of concurrent calls one wins, every time.
func TestGrantIsSpentAtomically(t *testing.T) {
	t.Parallel()
	its := deletes(t)
	e := new(executor)
	g := guard.New(e, as(its.Tool))
	const rounds = 5000
	for range rounds {
		ctx, _ := give(t.Context(), its)
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				<-begin
				_, _ = g.CallTool(ctx, its)
			})
		}
		close(begin)
		wg.Wait()
	}
	e.want(t, rounds)
}

// It is marked as spent before the call is handed over, not after.
func TestGrantIsSpentBeforeTheHandOver(t *testing.T) {
	t.Parallel()
	its := deletes(t)
	var outer context.Context
	e := new(executor)
	e.do = func(context.Context, middleware.Call) {
		if callstate.Covers(outer, &its) {
			t.Error("the grant can be spent again while the call is under way")
		}
	}
	outer, _ = give(t.Context(), its)
	if _, err := guard.New(e, as(its.Tool)).CallTool(outer, its); err != nil {
		t.Fatal(err)
	}
	e.want(t, 1)
}

// A group of calls ends because one of them was not sent: that is the cause of the
// others' end, and no reason to give their grants back.
func TestGrantIsNotGivenBackBecauseAnotherCallWasNotSent(t *testing.T) {
	t.Parallel()
	its := deletes(t)
	ctx, yes := give(t.Context(), its)
	ctx, cancel := context.WithCancelCause(ctx)
	sent := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
		cancel(fact{notSent: true})
		return nil, fmt.Errorf("posting: %w", context.Cause(ctx)) // as net/http does
	})
	_, err := guard.New(sent, as(its.Tool)).CallTool(ctx, its)
	_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
	if callstate.Covers(context.WithoutCancel(ctx), &its) || !unknown {
		t.Errorf("a delete that was under way may be made again with the same yes: %v", err)
	}
	yes.Void()
}

type fact struct{ notSent, refused bool }

func (fact) Error() string   { return "it failed" }
func (f fact) NotSent() bool { return f.notSent }
func (f fact) Refused() bool { return f.refused }

func TestGrantIsGivenBackOnlyIfTheCallWasNotCarriedOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		back bool
	}{
		{"not sent", fact{notSent: true}, true},
		{"not sent, further down", fmt.Errorf("sending: %w", fact{notSent: true}), true},
		{"refused", fact{refused: true}, true},
		{"a plain error", errors.New("lost"), false},
		{"an error that answers false", fact{}, false},
		{"no error", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			its, e := deletes(t), &executor{err: tt.err}
			ctx, yes := give(t.Context(), its)
			_, err := guard.New(e, as(its.Tool)).CallTool(ctx, its)
			if got := callstate.Covers(ctx, &its); got != tt.back {
				t.Errorf("given back: got %t, want %t", got, tt.back)
			}
			_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
			if want := tt.err != nil && !tt.back; unknown != want {
				t.Errorf("an unknown outcome: got %t, want %t (%v)", unknown, want, err)
			}
			yes.Void()
			if callstate.Covers(ctx, &its) {
				t.Error("a void grant covers")
			}
		})
	}
}

func TestVoidGrantStaysVoid(t *testing.T) {
	t.Parallel()
	its := deletes(t)
	ctx, yes := give(t.Context(), its)
	e := &executor{err: fact{notSent: true}, do: func(context.Context, middleware.Call) { yes.Void() }}
	g := guard.New(e, as(its.Tool))
	for range 2 {
		_, _ = g.CallTool(ctx, its)
	}
	e.want(t, 1)
}

func TestGrantExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		its, e := deletes(t), &executor{err: fact{notSent: true}}
		g := guard.New(e, as(its.Tool))
		ctx, _ := give(t.Context(), its)
		time.Sleep(5*time.Minute - 1)
		_, _ = g.CallTool(ctx, its)
		e.want(t, 1)
		time.Sleep(1)
		if callstate.Covers(ctx, &its) {
			t.Error("it covers after its time")
		}
		_, err := g.CallTool(ctx, its)
		e.want(t, 1)
		if !errors.Is(err, guard.ErrRefused) || !strings.Contains(err.Error(), "used or has expired") {
			t.Errorf("got error %v", err)
		}
	})
}

// A call has one approval, the one that was given last.
func TestInnermostGrantCounts(t *testing.T) {
	t.Parallel()
	left, right := deletes(t), deletes(t)
	right.Arguments = json.RawMessage(`{"path":"b.txt"}`)
	ctx, _ := give(t.Context(), left)
	ctx, _ = give(ctx, right)
	e := new(executor)
	if _, err := guard.New(e, as(left.Tool)).CallTool(ctx, left); !errors.Is(err, guard.ErrRefused) {
		t.Errorf("the call outside: got error %v", err)
	}
	e.want(t, 0)
	if _, err := guard.New(e, as(right.Tool)).CallTool(ctx, right); err != nil {
		t.Errorf("the call inside: %v", err)
	}
	e.want(t, 1)
}

// Each of our executors has a guard; two in a row need one approval, which a middleware between
// them cannot use twice.
func TestNestedGuardsNeedOneApproval(t *testing.T) {
	t.Parallel()
	var kept context.Context
	its, e := deletes(t), new(executor)
	inner := guard.New(e, as(its.Tool))
	outer := guard.New(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		res, err := inner.CallTool(ctx, call)
		if _, again := inner.CallTool(ctx, call); !errors.Is(again, guard.ErrRefused) {
			t.Errorf("the second hand-over: got error %v", again)
		}
		kept = ctx
		return res, err
	}), as(its.Tool))
	ctx, _ := give(t.Context(), its)
	if _, err := outer.CallTool(ctx, its); err != nil {
		t.Error(err)
	}
	e.want(t, 1)
	if _, err := inner.CallTool(kept, its); !errors.Is(err, guard.ErrRefused) {
		t.Errorf("after the return: got error %v", err)
	}
	e.want(t, 1)
}

// An approval that was handed on and not used is void when the call has returned.
func TestInnerGrantIsVoidAfterTheReturn(t *testing.T) {
	t.Parallel()
	var kept context.Context
	its, e := deletes(t), new(executor)
	outer := &executor{do: func(ctx context.Context, _ middleware.Call) { kept = ctx }}
	ctx, _ := give(t.Context(), its)
	if _, err := guard.New(outer, as(its.Tool)).CallTool(ctx, its); err != nil {
		t.Fatal(err)
	}
	if _, err := guard.New(e, as(its.Tool)).CallTool(kept, its); !errors.Is(err, guard.ErrRefused) {
		t.Errorf("got error %v", err)
	}
	e.want(t, 0)
}

func TestInnerGrantLivesNoLongerThanTheOuter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		its, e := deletes(t), new(executor)
		inner := guard.New(e, as(its.Tool))
		outer := guard.New(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			time.Sleep(3 * time.Minute)
			return inner.CallTool(ctx, call)
		}), as(its.Tool))
		ctx, _ := give(t.Context(), its)
		time.Sleep(2 * time.Minute)
		if _, err := outer.CallTool(ctx, its); !errors.Is(err, guard.ErrRefused) {
			t.Errorf("got error %v", err)
		}
		e.want(t, 0)
	})
}

// An approval covers what is sent beside the arguments, and not what is the transport's.
func TestGrantCoversMetaAndInput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*middleware.Call)
		runs   int64
	}{
		"the same":         {func(*middleware.Call) {}, 1},
		"an equal copy":    {func(c *middleware.Call) { c.Meta = mcp.Meta{"tenant": "a"} }, 1},
		"another member":   {func(c *middleware.Call) { c.Meta = mcp.Meta{"tenant": "a", "dry_run": false} }, 0},
		"another value":    {func(c *middleware.Call) { c.Meta = mcp.Meta{"tenant": "b"} }, 0},
		"none":             {func(c *middleware.Call) { c.Meta = nil }, 0},
		"not JSON":         {func(c *middleware.Call) { c.Meta = mcp.Meta{"tenant": func() {}} }, 0},
		"a progress token": {func(c *middleware.Call) { c.Meta = mcp.Meta{"tenant": "a", "progressToken": 1} }, 1},
		"a trace": {func(c *middleware.Call) {
			c.Meta = mcp.Meta{"tenant": "a", "traceparent": "x", "tracestate": "y", "baggage": "z"}
		}, 1},
		"an input": {func(c *middleware.Call) { c.Input = &middleware.Input{State: "s"} }, 0},
		"an answer": {func(c *middleware.Call) {
			c.Input = &middleware.Input{Responses: mcp.InputResponseMap{"a": &mcp.ElicitResult{Action: "accept"}}}
		}, 0},
		"a param":             {func(c *middleware.Call) { c.Params = map[string]json.RawMessage{"task": []byte("{}")} }, 0},
		"no params":           {func(c *middleware.Call) { c.Params = map[string]json.RawMessage{} }, 1},
		"an input of nothing": {func(c *middleware.Call) { c.Input = new(middleware.Input) }, 1},
	} {
		its, e := deletes(t), new(executor)
		its.Meta = mcp.Meta{"tenant": "a"}
		ctx, _ := give(t.Context(), its)
		tt.change(&its)
		_, err := guard.New(e, as(its.Tool)).CallTool(ctx, its)
		if e.want(t, tt.runs); (err == nil) != (tt.runs == 1) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
