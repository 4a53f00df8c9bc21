package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type double struct {
	asked atomic.Int64
	no    atomic.Bool
}

func (d *double) Confirm(context.Context, hitl.Request) (hitl.Decision, error) {
	d.asked.Add(1)
	if d.no.Load() {
		return hitl.Decision{}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved}, nil
}

func (d *double) doubles() doubles {
	return doubles{asked: func() int { return int(d.asked.Load()) }, say: func(yes bool) { d.no.Store(!yes) }}
}

// around is a middleware of the host's own, without Describe.
func around(f func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error)) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return f(ctx, call, next)
		})
	}
}

var pass = around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
	return next.CallTool(ctx, call)
})

// remembering is a cache of the host's own, which keeps the answers that keep reports.
func remembering(key func(middleware.Call) string, keep func(*middleware.Tool, *mcp.CallToolResult) bool) middleware.Middleware {
	var known sync.Map
	return around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
		if res, ok := known.Load(key(call)); ok {
			return res.(*mcp.CallToolResult), nil
		}
		res, err := next.CallTool(ctx, call)
		if err == nil && keep(call.Tool, res) {
			known.Store(key(call), res)
		}
		return res, err
	})
}

func exact(c middleware.Call) string {
	return c.Scope + " " + c.Tool.Name() + " " + string(c.Arguments)
}

func quick() middleware.Middleware {
	return retry.New(retry.Options{Rand: func() float64 { return 0 }})
}

func slow() middleware.Middleware {
	return ratelimit.New(ratelimit.Options{PerMinute: 6000, Burst: 100})
}

// Each row is a mistake in an order, and the words that name it: those that are
// read, and those that only driving shows.
func TestVerifyNamesWhatAnOrderBreaks(t *testing.T) {
	t.Parallel()
	type links = []middleware.Middleware
	of := func(tool *middleware.Tool, classes ...annotation.Safety) bool {
		return slices.Contains(classes, tool.Safety())
	}
	for _, tt := range []struct {
		name         string
		links        func(ask middleware.Middleware) links
		read, driven []string
	}{
		{"as argued", func(ask middleware.Middleware) links {
			return links{chain.Recover(), infer.New(infer.Options{}), ask, pass, cache.New(cache.Options{}), quick(), slow(), pass, timeout.New(timeout.Options{}), chain.Guard}
		}, nil, nil},
		{"B295: an empty chain", func(middleware.Middleware) links { return nil }, nil, nil},
		{"nothing but a stopwatch", func(middleware.Middleware) links { return links{pass} }, nil, nil},
		{"nobody to ask", func(middleware.Middleware) links {
			return links{infer.New(infer.Options{}), cache.New(cache.Options{}), quick()}
		}, nil, nil},

		{"B287: a cache outside the person", func(ask middleware.Middleware) links { return links{cache.New(cache.Options{}), ask} },
			[]string{"cache is outside hitl: the cache answers without a question"}, nil},
		{"B287: a memory of the host's own outside the person, that holds everything", func(ask middleware.Middleware) links {
			return links{remembering(exact, func(_ *middleware.Tool, res *mcp.CallToolResult) bool { return !res.IsError }), ask}
		}, nil, []string{
			"a dangerous call was answered from memory, and nobody was asked",
			"a dangerous call had a result after a person had said no",
			"a write was answered from memory",
			"what was there before the caller's own write",
		}},
		{"a memory inside the person that holds dangerous calls", func(ask middleware.Middleware) links {
			return links{ask, remembering(exact, func(tool *middleware.Tool, _ *mcp.CallToolResult) bool { return of(tool, annotation.Dangerous) })}
		}, nil, []string{"a dangerous call was answered from memory, and did not happen"}},
		{"a cache without scopes", func(ask middleware.Middleware) links {
			return links{ask, remembering(func(c middleware.Call) string { return c.Tool.Name() }, func(tool *middleware.Tool, res *mcp.CallToolResult) bool {
				return of(tool, annotation.Safe) && !res.IsError
			})}
		}, nil, []string{"what another scope had been told", "what was there before the caller's own write"}},
		{"a memory that holds failures", func(ask middleware.Middleware) links {
			return links{ask, remembering(exact, func(tool *middleware.Tool, res *mcp.CallToolResult) bool {
				return of(tool, annotation.Safe) && res.IsError
			})}
		}, nil, []string{"a failure that the tool reported was answered again"}},

		{"B289: a retry outside the person", func(ask middleware.Middleware) links { return links{quick(), ask} },
			[]string{"retry is outside hitl: a person is asked again for each attempt"},
			[]string{"a person was asked again for each attempt at one call"}},
		{"a confirmation that asks again when refused", func(ask middleware.Middleware) links {
			return links{around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				res, err := next.CallTool(ctx, call)
				if err != nil {
					return next.CallTool(ctx, call)
				}
				return res, nil
			}), ask}
		}, nil, []string{
			"a person was asked again for each attempt at one call",
			"a dangerous call of which nobody knows whether it happened was made again",
			"a moderate call of which nobody knows whether it happened was made again",
		}},
		{"a confirmation that ignores a denial", func(ask middleware.Middleware) links {
			return links{around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				if res, err := next.CallTool(ctx, call); err == nil || !errors.Is(err, hitl.ErrDenied) {
					return res, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
			}), ask}
		}, nil, []string{"a dangerous call had a result after a person had said no"}},

		{"B291: a rate limit outside the cache", func(ask middleware.Middleware) links { return links{ask, slow(), cache.New(cache.Options{})} },
			[]string{"warning: ratelimit is outside cache: a cached result costs a token of the rate limit"}, nil},
		{"a rate limit outside the person", func(ask middleware.Middleware) links { return links{slow(), ask} },
			[]string{"warning: ratelimit is outside hitl: a token of the rate limit is taken before a person has approved"}, nil},
		{"a rate limit outside the person, and two retries", func(ask middleware.Middleware) links { return links{slow(), ask, quick(), quick()} },
			[]string{"warning: ratelimit is outside hitl", "retry is in the chain more than once", "ratelimit is outside retry"}, nil},
		{"a rate limit outside the retry", func(ask middleware.Middleware) links { return links{ask, slow(), quick()} },
			[]string{"ratelimit is outside retry: attempts after the first are sent without a token of the rate limit"}, nil},
		{"a retry outside the cache", func(ask middleware.Middleware) links { return links{ask, quick(), cache.New(cache.Options{})} },
			[]string{"warning: retry is outside cache"}, nil},
		{"a time limit outside the person, the retry and the rate", func(ask middleware.Middleware) links {
			return links{timeout.New(timeout.Options{}), ask, quick(), slow()}
		}, []string{"warning: timeout is outside hitl", "warning: timeout is outside retry", "warning: timeout is outside ratelimit"}, nil},
		{"classes inside the person", func(ask middleware.Middleware) links { return links{ask, infer.New(infer.Options{})} },
			[]string{"hitl is outside infer: a person is asked about every tool"},
			[]string{"a person was asked about a read: the tool's class is worked out inside the confirmation"}},
		{"classes inside all", func(middleware.Middleware) links {
			return links{cache.New(cache.Options{}), quick(), infer.New(infer.Options{})}
		},
			[]string{"cache is outside infer", "retry is outside infer"}, nil},
		{"B297: other arguments after the approval", func(ask middleware.Middleware) links {
			return links{ask, around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				call.Arguments = json.RawMessage(`{"path":"/"}`)
				return next.CallTool(ctx, call)
			}), quick()}
		}, nil, []string{"what a person agreed to is not what reached the executor"}},
		{"other arguments before the approval", func(ask middleware.Middleware) links {
			return links{around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				call.Arguments = json.RawMessage(`{"path":"/"}`)
				return next.CallTool(ctx, call)
			}), ask}
		}, nil, nil},

		{"B293: two confirmations", func(ask middleware.Middleware) links { return links{ask, ask} }, []string{"hitl is in the chain more than once"}, nil},
		{"two confirmations, the second after the call has changed", func(ask middleware.Middleware) links {
			return links{ask, around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				call.Arguments = append([]byte(" "), call.Arguments...)
				return next.CallTool(ctx, call)
			}), ask}
		}, []string{"hitl is in the chain more than once"},
			[]string{"a person was asked 2 times about one dangerous call", "a person was asked again for each attempt"}},
		{"B157: two retries", func(ask middleware.Middleware) links { return links{ask, quick(), quick()} }, []string{"retry is in the chain more than once"}, nil},
		{"two caches", func(ask middleware.Middleware) links {
			return links{ask, cache.New(cache.Options{}), cache.New(cache.Options{})}
		},
			[]string{"cache is in the chain more than once"}, nil},
		{"two rate limits", func(ask middleware.Middleware) links { return links{ask, slow(), slow()} },
			[]string{"warning: ratelimit is in the chain more than once"}, nil},
		{"a call of next that is made twice", func(ask middleware.Middleware) links {
			return links{ask, around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				_, _ = next.CallTool(ctx, call)
				return next.CallTool(ctx, call)
			})}
		}, nil, []string{
			"one dangerous call was handed to the executor 2 times",
			"one write was handed to the executor 2 times",
			"a dangerous call of which nobody knows whether it happened was made again",
			"a moderate call of which nobody knows whether it happened was made again",
		}},
		{"a middleware that answers everything itself", func(ask middleware.Middleware) links {
			return links{ask, around(func(context.Context, middleware.Call, middleware.ToolCaller) (*mcp.CallToolResult, error) {
				return answer, nil
			})}
		}, nil, []string{"a dangerous call was answered without being executed", "a write was answered without being executed"}},
		{"one who panics", func(ask middleware.Middleware) links {
			return links{ask, around(func(_ context.Context, call middleware.Call, _ middleware.ToolCaller) (*mcp.CallToolResult, error) {
				panic("boom, " + call.Tool.Name())
			})}
		}, nil, []string{"a call of class dangerous panicked (boom, destroy)", "a call of class moderate panicked (boom, add)", "a call of class safe panicked (boom, look)", "a call of class unknown panicked (boom, list_things)"}},
		{"a middleware that panics, and Recover outermost", func(ask middleware.Middleware) links {
			return links{chain.Recover(), ask, around(func(context.Context, middleware.Call, middleware.ToolCaller) (*mcp.CallToolResult, error) {
				panic("boom")
			})}
		}, nil, nil},
		{"a guard that is not innermost", func(ask middleware.Middleware) links { return links{ask, chain.Guard, quick()} },
			[]string{"guard is outside retry: what it has let through can still be changed or repeated"}, nil},

		{"a mistake across a nested chain, past middlewares without Describe", func(ask middleware.Middleware) links {
			return links{pass, chain.Standard{Outermost: links{pass}, Retry: quick()}.Middleware(), pass, chain.New(pass, ask).Then}
		}, []string{"retry is outside hitl"}, []string{"a person was asked again for each attempt at one call"}},
		{"a mistake in one link that is built by hand", func(ask middleware.Middleware) links {
			return links{func(next middleware.ToolCaller) middleware.ToolCaller {
				return fault.Recover(quick()(ask(next)))
			}}
		}, []string{"retry is outside hitl"}, []string{"a person was asked again for each attempt at one call"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := new(double)
				c := chain.New(tt.links(hitl.New(d, hitl.Options{}))...)
				wantProblems(t, "read", chain.Verify(c), tt.read)
				if n := d.asked.Load(); n != 0 {
					t.Errorf("a person was asked %d times although no double was handed in", n)
				}
				d.no.Store(true) // the double is set to approve
				wantProblems(t, "driven", drive(c, d.doubles()), slices.Concat(tt.read, tt.driven))
				if d.no.Load() {
					t.Error("the double is left saying no")
				}
				if strings.Contains(strings.Join(tt.driven, ""), "panicked") {
					return
				}
				// At the outer edge an error becomes a result, a denial too.
				edge := chain.New(append([]middleware.Middleware{output.New(output.Options{})}, tt.links(hitl.New(d, hitl.Options{}))...)...)
				wantProblems(t, "behind output", drive(edge, d.doubles()), slices.Concat(tt.read, tt.driven))
			})
		})
	}
}

// wantProblems compares problems with the words that each holds, in any order.
func wantProblems(t *testing.T, how string, got []chain.Problem, want []string) {
	t.Helper()
	for _, words := range want {
		if !slices.ContainsFunc(got, func(p chain.Problem) bool { return strings.Contains(p.String(), words) }) {
			t.Errorf("%s: no finding has %q", how, words)
		}
	}
	if len(got) != len(want) || t.Failed() {
		t.Errorf("%s: got %d problems, want %d: %q", how, len(got), len(want), got)
	}
	worse := func(a, b chain.Problem) int {
		if !a.Warning && b.Warning {
			return -1
		}
		return 0
	}
	if !slices.IsSortedFunc(got, worse) {
		t.Errorf("%s: a warning precedes an error: %q", how, got)
	}
}

// Every set of filled slots, read and driven: 256 chains.
func TestStandardVerifiesClean(t *testing.T) {
	t.Parallel()
	for filled := range 1 << 8 {
		has := func(i int) bool { return filled>>i&1 == 1 }
		d := new(double)
		var s chain.Standard
		if has(0) {
			s.Outermost, s.PerCall, s.PerAttempt = []middleware.Middleware{pass}, []middleware.Middleware{pass}, []middleware.Middleware{pass}
		}
		if has(1) {
			s.Infer = infer.New(infer.Options{})
		}
		if has(2) {
			s.Confirm = hitl.New(d, hitl.Options{Writes: has(0)})
		}
		if has(3) {
			s.Cache = cache.New(cache.Options{})
		}
		if has(4) {
			s.Retry = quick()
		}
		if has(5) {
			s.RateLimit = ratelimit.New(ratelimit.Options{PerMinute: 1})
		}
		if has(6) {
			s.Timeout = timeout.New(timeout.Options{})
		}
		if has(7) {
			s.Output, s.Budget = output.New(output.Options{}), budget.New(budget.Options{})
			s.Preflight, s.Route = preflight.New(preflight.Options{}), route.New(route.Options{})
		}
		for _, problem := range slices.Concat(chain.Verify(s), drive(s, d.doubles()), chain.Verify(chain.New(s.Middleware()))) {
			t.Errorf("%08b: %v", filled, problem)
		}
		if has(2) != (d.asked.Load() > 0) {
			t.Errorf("%08b: asked %d times", filled, d.asked.Load())
		}
	}
}

// foreign hangs its links in front of an executor in a way of its own.
type foreign []middleware.Middleware

func (f foreign) Then(next middleware.ToolCaller) middleware.ToolCaller {
	for _, link := range slices.Backward(f) {
		next = link(next)
	}
	return next
}

func TestVerifyReadsWhateverHangsBeforeAnExecutor(t *testing.T) {
	t.Parallel()
	d := new(double)
	ask := hitl.New(d, hitl.Options{})
	wantProblems(t, "links that tell", chain.Verify(foreign{chain.Recover(), slow(), timeout.New(timeout.Options{}), cache.New(cache.Options{}), ask}),
		[]string{"cache is outside hitl", "ratelimit is outside hitl", "ratelimit is outside cache", "timeout is outside hitl"})
	wantProblems(t, "one without Describe hides the rest", chain.Verify(foreign{pass, quick(), ask}), nil)
	synctest.Test(t, func(t *testing.T) { // where a millisecond is one, however busy the machine
		wantProblems(t, "but not what it does", drive(foreign{pass, quick(), ask}, d.doubles()), []string{"a person was asked again"})
	})
	wantProblems(t, "a chain without a confirmation", drive(foreign{cache.New(cache.Options{})}, doubles{}), nil)
}

type turning struct{}

// Describe implements [middleware.Describer].
func (turning) Describe() middleware.Description {
	return middleware.Description{Kind: "turning", Next: turning{}}
}

func (turning) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	return answer, nil
}

func TestVerifyEndsForAnyDescription(t *testing.T) {
	t.Parallel()
	c := chain.New(func(middleware.ToolCaller) middleware.ToolCaller { return turning{} }, quick(), hitl.New(nil, hitl.Options{}))
	wantProblems(t, "turning", chain.Verify(c), []string{"retry is outside hitl"})
}

func TestVerifyGivesNoWayPastTheGuard(t *testing.T) {
	t.Parallel()
	executed := 0
	for at := chain.New(chain.Recover(), quick()).Then(guarded(&executed, nil)); ; {
		d, ok := at.(middleware.Describer)
		if !ok || d.Describe().Next == nil {
			if !ok || d.Describe().Kind != "guard" {
				t.Errorf("the walk ends at %T, want the guard", at)
			}
			return
		}
		at = d.Describe().Next
	}
}

func TestVerifyPanicsOnANilChain(t *testing.T) {
	t.Parallel()
	defer func() {
		if got := recover(); got != "chain: Verify was given a nil chain" {
			t.Errorf("got panic %v", got)
		}
	}()
	chain.Verify(nil)
}

// A confirmation that ignores the answer, and one that does not ask.
func TestDriveFindsAnIgnoredDenial(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		asks bool
		want string
	}{
		{"deaf", true, "a dangerous call was executed after a person had said no"},
		{"dumb", false, "a dangerous call was executed, and nobody was asked"},
	} {
		d := new(double)
		agrees := around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
			if call.Tool.Safety().MustConfirm() {
				if tt.asks {
					_, _ = d.Confirm(ctx, hitl.Request{})
				}
				var yes *callstate.Grant
				ctx, yes = callstate.WithGrant(ctx, &call, annotation.Dangerous, time.Minute, nil)
				defer yes.Void()
			}
			return next.CallTool(ctx, call)
		})
		got := drive(chain.New(infer.New(infer.Options{}), agrees), d.doubles())
		if !tt.asks { // and then a result after a denial as well
			got = got[:min(len(got), 1)]
		}
		wantProblems(t, tt.name, got, []string{tt.want})
	}
}

func BenchmarkVerify(b *testing.B) {
	s := whole(new(double))
	for b.Loop() {
		chain.Verify(s)
	}
}

// A call that must be recorded is refused without a working trail, and Verify reports it: of what
// is missing when it reads, of what does not work when it drives.
func TestVerifyNamesATrailThatRecordsNothing(t *testing.T) {
	t.Parallel()
	works := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
	other := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
	fails := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return errors.New("the disk is full") }), audit.Options{})
	changes := around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
		call.Arguments = json.RawMessage(`{"more":true}`)
		return next.CallTool(ctx, call)
	})
	const notMade = "a call that must be recorded was not made"
	for _, tt := range []struct {
		name         string
		links        func(ask middleware.Middleware) []middleware.Middleware
		read, driven []string
	}{
		{"both", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{works.Record, chain.Recover(), infer.New(infer.Options{}), budget.New(budget.Options{}), ask, works.Intent, cache.New(cache.Options{})}
		}, nil, nil},
		{"no intent", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{works.Record, ask}
		},
			[]string{"record is in the chain without intent: a call leaves no trace if the process ends in its middle"}, []string{notMade}},
		{"no record", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{ask, works.Intent}
		},
			[]string{"intent is in the chain without record: the end of what was begun is never recorded"}, nil},
		{"of two trails", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{works.Record, ask, other.Intent}
		},
			nil, []string{notMade}},
		{"a sink that fails", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{fails.Record, ask, fails.Intent}
		},
			nil, []string{notMade}},
		{"other arguments further in", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{works.Record, works.Intent, changes}
		},
			nil, []string{notMade}},
		{"nothing that records", func(ask middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{ask} }, nil, nil},
	} {
		d := new(double)
		c := chain.New(tt.links(hitl.New(d, hitl.Options{}))...)
		wantProblems(t, tt.name+", read", chain.Verify(c), tt.read)
		wantProblems(t, tt.name+", driven", drive(c, d.doubles()), append(tt.read, tt.driven...))
	}
}
