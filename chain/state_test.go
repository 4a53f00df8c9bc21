package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var unrecorded = audit.SinkFunc(func(context.Context, audit.Record) error { return nil })

// listeners are what a host adds to a chain that changes nothing of its calls.
var listeners = map[string]func(*chain.Standard){
	"nothing":   func(*chain.Standard) {},
	"audit":     func(s *chain.Standard) { s.Audit = audit.New(unrecorded, audit.Options{}) },
	"telemetry": func(s *chain.Standard) { s.Telemetry = recording("telemetry") },
	"a host's middleware": func(s *chain.Standard) {
		s.Outermost, s.PerCall, s.PerAttempt = []middleware.Middleware{recording("")}, []middleware.Middleware{recording("metrics")}, []middleware.Middleware{passing}
	},
}

// recording is a middleware of a kind that reads the record.
func recording(kind string) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller { return &reads{next: next, kind: kind} }
}

type reads struct {
	next middleware.ToolCaller
	kind string
	last chain.Record
	ok   bool
}

func (r *reads) Describe() middleware.Description {
	return middleware.Description{Kind: r.kind, Next: r.next}
}

func (r *reads) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	res, err := r.next.CallTool(ctx, call)
	r.last, r.ok = chain.RecordOf(ctx)
	return res, err
}

// A read that panics, or comes back with nothing, is an ordinary failure: the class that inference gave it counts,
// whoever else is in the chain.
func TestOutcomeOfAReadDoesNotDependOnTheListeners(t *testing.T) {
	t.Parallel()
	for how, executor := range map[string]middleware.ToolCallerFunc{
		"panics":          func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("x") },
		"returns nothing": func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, nil },
		"fails":           func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, errors.New("boom") },
	} {
		for _, name := range []string{"list_orders", "get_status", "read_file", "create_note"} {
			for who, add := range listeners {
				for filled, s := range map[string]chain.Standard{
					"infer":  {Infer: infer.New(infer.Options{})},
					"readme": {Infer: infer.New(infer.Options{}), Confirm: hitl.New(nil, hitl.Options{}), Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{Attempts: 1})},
				} {
					add(&s)
					tool := &middleware.Tool{Server: "shop", Definition: &mcp.Tool{Name: name}}
					_, err := s.Then(executor).CallTool(t.Context(), middleware.Call{Tool: tool})
					_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
					if err == nil || unknown != (name == "create_note") {
						t.Errorf("%s %s, with %s and %s: outcome unknown: %t, %v", name, how, filled, who, unknown, err)
					}
				}
			}
		}
	}
}

// RecordOf works for a middleware of any kind, alone in a chain as well.
func TestRecordDoesNotDependOnTheKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "telemetry", "metrics", "my-audit", "cache"} {
		for _, others := range [][]middleware.Middleware{nil, {infer.New(infer.Options{})}, {cache.New(cache.Options{}), passing}} {
			var own *reads
			outermost := func(next middleware.ToolCaller) middleware.ToolCaller {
				own = &reads{next: next, kind: kind}
				return own
			}
			inside := false
			executor := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
				_, inside = chain.RecordOf(ctx)
				return answer, nil
			})
			caller := chain.New(append([]middleware.Middleware{outermost}, others...)...).Then(executor)
			if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool(t, "list_orders", annotation.ReadOnly())}); err != nil {
				t.Fatal(err)
			}
			if !own.ok || own.last.Tool == nil || inside {
				t.Errorf("kind %q before %d others: found %t, %v; in the executor %t", kind, len(others), own.ok, own.last.Tool, inside)
			}
		}
	}
}

// A record is a copy: what its reader does to it changes nothing of the call.
func TestRecordCannotBeWritten(t *testing.T) {
	t.Parallel()
	deletes := tool(t, "delete", annotation.Destructive())
	forge := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			r, _ := chain.RecordOf(ctx)
			for i := range r.Decisions {
				r.Decisions[i] = chain.Decision{Stage: "hitl", What: "allowed"}
			}
			for i := range r.Sources {
				r.Sources[i] = chain.Source{From: "user"}
			}
			return next.CallTool(ctx, call)
		})
	}
	traced := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			callstate.Of(ctx).Write(func(r *callstate.Record) { r.Sources = []middleware.Source{{From: "result", Rule: "a stranger"}} })
			return next.CallTool(ctx, call)
		})
	}
	own := &reads{}
	outermost := func(next middleware.ToolCaller) middleware.ToolCaller {
		own.next = next
		return own
	}
	s := chain.Standard{Flow: chain.New(traced, forge).Then, Outermost: []middleware.Middleware{outermost}, Infer: infer.New(infer.Options{}), Budget: budget.New(budget.Options{}),
		Confirm: hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
			if r.Sources[0].Rule == "" {
				t.Error("a person is shown other sources than those that were found")
			}
			r.Sources[0] = hitl.Source{From: "user"}
			return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
		}), hitl.Options{}), PerCall: []middleware.Middleware{forge}}
	if _, err := s.Then(accepting()).CallTool(t.Context(), middleware.Call{Tool: deletes}); err != nil {
		t.Fatal(err)
	}
	if r := own.last; r.Approval.By != "ann" || r.Tool.Safety() != annotation.Dangerous || len(r.Decisions) != 1 || r.Decisions[0].What != "allowed" || r.Sources[0].Rule == "" {
		t.Errorf("the record is %+v", r)
	}
}

// The chains that one value of a middleware is used in share what it keeps; another value is another one.
func TestChainsOfOneValueShareWhatItKeeps(t *testing.T) {
	t.Parallel()
	list := tool(t, "list_orders", annotation.ReadOnly())
	list.Annotations.Freshness = annotation.Stable
	for name, c := range map[string]struct {
		anew                func() middleware.Middleware
		executed, ofAnother int // of two calls
	}{
		"cache": {func() middleware.Middleware { return cache.New(cache.Options{}) }, 1, 2},
		"ratelimit": {func() middleware.Middleware {
			return ratelimit.New(ratelimit.Options{PerMinute: 1, Burst: 1, MaxWait: 1})
		}, 1, 2},
		"budget":  {func() middleware.Middleware { return budget.New(budget.Options{Session: budget.Limit{Calls: 1}}) }, 1, 2},
		"timeout": {func() middleware.Middleware { return timeout.New(timeout.Options{}) }, 2, 2},
	} {
		m := c.anew()
		for what, pair := range map[string]struct {
			left, right middleware.Middleware
			want        int
		}{"one value": {m, m, c.executed}, "two": {c.anew(), c.anew(), c.ofAnother}} {
			executed := 0
			executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				executed++
				return answer, nil
			})
			for _, m := range []middleware.Middleware{pair.left, pair.right} {
				_, _ = chain.New(m).Then(executor).CallTool(t.Context(), middleware.Call{Tool: list})
			}
			if executed != pair.want {
				t.Errorf("%s, %s: executed %d times, want %d", name, what, executed, pair.want)
			}
		}
	}
}

// A series is what a caller sees of a series of calls, and what was executed.
type series struct {
	returned []string
	executed []string
}

// seriesOf makes a series of calls that a seed draws, some of them side by side, of tools of each class, whose executor
// answers, fails and panics as the seed draws for the call and the attempt.
func seriesOf(t *testing.T, seed uint64, listen func(*chain.Standard)) (got series) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tools := []*middleware.Tool{
			tool(t, "list", annotation.ReadOnly()), tool(t, "add", annotation.Write()), tool(t, "update", annotation.Update()),
			tool(t, "delete", annotation.Destructive()), {Server: "files", Definition: &mcp.Tool{Name: "get_status"}},
			{Server: "files", Definition: &mcp.Tool{Name: "frobnicate"}},
		}
		attempts := make(map[string]int)
		executor := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			attempts[call.ID]++
			got.executed = append(got.executed, fmt.Sprint(call.ID, call.Tool.Name(), string(call.Arguments), attempts[call.ID]))
			r := rand.New(rand.NewPCG(seed, uint64(len(call.ID)+100*attempts[call.ID])+uint64(call.ID[0])))
			select {
			case <-time.After(time.Duration(r.IntN(1000)) * time.Millisecond):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			switch r.IntN(8) {
			case 0:
				panic("x")
			case 1:
				return nil, nil
			case 2:
				return nil, errors.New("broken")
			case 3:
				return nil, &middleware.NotSentError{Err: errors.New("no line")}
			case 4:
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: call.ID}}}, nil
		})
		r := rand.New(rand.NewPCG(seed, 0))
		s := chain.Standard{
			Output: output.New(output.Options{}), Infer: infer.New(infer.Options{}), Budget: budget.New(budget.Options{Session: budget.Limit{Calls: 12}}),
			Flow: flow.New(flow.Options{}), Doubt: doubt.New(doubt.Options{}),
			Confirm: hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
				if len(r.Arguments)%2 == 0 {
					return hitl.Decision{Verdict: hitl.Approved}, nil
				}
				return hitl.Decision{}, nil
			}), hitl.Options{}),
			Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{Rand: func() float64 { return 0.5 }}),
			RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 60, Burst: 2}), Timeout: timeout.New(timeout.Options{Default: 800 * time.Millisecond}),
		}
		for _, slot := range []*middleware.Middleware{&s.Output, &s.Infer, &s.Budget, &s.Flow, &s.Doubt, &s.Cache, &s.Retry, &s.RateLimit, &s.Timeout} {
			if r.IntN(4) == 0 {
				*slot = nil
			}
		}
		listen(&s)
		caller := chain.Recover()(s.Then(executor))
		for i := range 16 {
			call := middleware.Call{
				ID: fmt.Sprintf("%c", 'a'+i), Tool: tools[r.IntN(len(tools))],
				Arguments: json.RawMessage([]string{`{}`, `{"id":1}`, `{"id":12}`, `{"b":1,"a":2}`, `{"a":2, "b":1}`}[r.IntN(5)]),
			}
			res, err := caller.CallTool(t.Context(), call)
			text, _ := json.Marshal(res)
			got.returned = append(got.returned, fmt.Sprintf("%s %s %s %v %q", call.ID, call.Tool.Name(), text, err, middleware.ForModel(err)))
			time.Sleep(time.Duration(r.IntN(3)) * time.Second)
		}
	})
	return got
}

// Calls end in the same way, and the same are executed, whoever listens.
func TestListenersChangeNothing(t *testing.T) {
	t.Parallel()
	seeds := uint64(150)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		want := seriesOf(t, seed, listeners["nothing"])
		for who, add := range listeners {
			got := seriesOf(t, seed, add)
			if !slices.Equal(got.executed, want.executed) || !slices.Equal(got.returned, want.returned) {
				t.Fatalf("seed %d, %s:\nexecuted %q\nwant     %q\nreturned %q\nwant     %q", seed, who, got.executed, want.executed, got.returned, want.returned)
			}
		}
	}
}

// A chain that is a part of another one has the state of the whole, whatever is behind it.
func TestChainAsAPartOfAnother(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]middleware.Middleware{
		"a chain":  chain.New(passing, infer.New(infer.Options{})).Then,
		"standard": chain.Standard{Infer: infer.New(infer.Options{})}.Middleware(),
	} {
		own := &reads{}
		outermost := func(next middleware.ToolCaller) middleware.ToolCaller {
			own.next = next
			return own
		}
		whole := chain.New(outermost, part, func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(next.CallTool)
		}, cache.New(cache.Options{})).Then(accepting())
		if _, err := whole.CallTool(t.Context(), middleware.Call{Tool: tool(t, "list_orders", annotation.ReadOnly())}); err != nil {
			t.Fatal(err)
		}
		if len(own.last.Decisions) != 1 || own.last.Decisions[0].Stage != "cache" {
			t.Errorf("%s: the record has %+v", name, own.last.Decisions)
		}
	}
}
