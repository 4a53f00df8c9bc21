package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// classed replaces inference, and gives the tool its class.
func classed(tool *middleware.Tool) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(callstate.WithClass(ctx, tool), call)
		})
	}
}

// guarded is an executor of the host's own behind the guard; it counts.
func guarded(executed *int, err error) middleware.ToolCaller {
	return chain.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		*executed++
		if err != nil {
			return nil, err
		}
		return answer, nil
	}))
}

func changing(f func(*middleware.Call)) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			f(&call)
			return next.CallTool(ctx, call)
		})
	}
}

// B171, B295: without a confirmer, a call that must be confirmed is refused, and the error has the
// next step.
func TestWithoutConfirmDangerousCallsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool string
		runs int
	}{{"list_files", 1}, {"create_note", 1}, {"delete_file", 0}, {"send_mail", 0}, {"frobnicate", 0}} {
		for _, s := range []struct {
			name  string
			chain chain.Standard
			want  error
		}{
			{"an empty slot", chain.Standard{Infer: infer.New(infer.Options{})}, chain.ErrRefused},
			{"nobody to ask", chain.Standard{Infer: infer.New(infer.Options{}), Confirm: hitl.New(nil, hitl.Options{})}, hitl.ErrDenied},
			{"every slot but that one", func() chain.Standard { s := whole(nil); s.Confirm = nil; return s }(), chain.ErrRefused},
		} {
			t.Run(tt.tool+", "+s.name, func(t *testing.T) {
				t.Parallel()
				executed := 0
				_, err := s.chain.Then(guarded(&executed, nil)).CallTool(t.Context(), middleware.Call{Tool: definition(t, tt.tool)})
				if executed != tt.runs {
					t.Errorf("executed %d times, want %d", executed, tt.runs)
				}
				if tt.runs == 0 && (!errors.Is(err, s.want) || !middleware.NotSent(err) || !middleware.Permanent(err)) {
					t.Errorf("got error %v", err)
				}
				if tt.runs == 0 && s.want == chain.ErrRefused && !strings.Contains(err.Error(), "put hitl.New in the chain's Confirm slot") {
					t.Errorf("the error does not say what to do: %v", err)
				}
			})
		}
	}
}

func TestGuardRefusesBehindAnyMiddleware(t *testing.T) {
	t.Parallel()
	remove, list := definition(t, "delete_file"), definition(t, "list_files")
	kinder := func(c *middleware.Call) {
		other := *c.Tool
		other.Annotations = annotation.ReadOnly()
		c.Tool = &other
	}
	place := func(f func(*middleware.Call)) []middleware.Middleware { return []middleware.Middleware{changing(f)} }
	inferred := func(s chain.Standard) chain.Standard { s.Infer = infer.New(infer.Options{}); return s }
	asked := func(s chain.Standard) chain.Standard { s.Confirm = hitl.New(approves, hitl.Options{}); return s }
	for _, tt := range []struct {
		name  string
		chain chain.Standard
		tool  *middleware.Tool
		runs  int
	}{
		{"inferred and asked", asked(inferred(chain.Standard{})), remove, 1},
		{"B295: an empty chain, a write", chain.Standard{}, remove, 0},
		{"B295: an empty chain, an unclassified read", chain.Standard{}, list, 0},
		{"not inferred, but asked", asked(chain.Standard{}), remove, 1},
		{"a less strict copy in front of an empty chain", chain.Standard{Outermost: place(kinder)}, remove, 0},
		{"a less strict copy between inference and the person", inferred(chain.Standard{PerCall: place(kinder)}), remove, 0},
		{"a less strict copy per attempt", inferred(chain.Standard{PerAttempt: place(kinder)}), remove, 0},
		{"a less strict copy, with evidence of its own", inferred(chain.Standard{PerAttempt: place(func(c *middleware.Call) {
			other := *c.Tool
			other.Annotations = annotation.ReadOnly().Attribute(annotation.Host, "")
			c.Tool = &other
		})}), remove, 0},
		{"the annotations of another tool", inferred(chain.Standard{PerAttempt: place(func(c *middleware.Call) {
			other := *c.Tool
			other.Definition, other.Digest, other.Annotations = list.Definition, list.Digest, annotation.ReadOnly()
			c.Tool = &other
		})}), remove, 0},
		{"a less strict copy that is classified again", inferred(chain.Standard{PerAttempt: []middleware.Middleware{changing(kinder), infer.New(infer.Options{})}}), remove, 0},
		{"a less strict copy of the definition, classified again", inferred(chain.Standard{PerAttempt: []middleware.Middleware{changing(func(c *middleware.Call) {
			other, definition := *c.Tool, *c.Tool.Definition
			other.Definition, other.Annotations, other.Digest = &definition, annotation.ReadOnly(), middleware.Digest{}
			c.Tool = &other
		}), infer.New(infer.Options{})}}), remove, 0},
		{"B297: other arguments after the approval", asked(inferred(chain.Standard{PerCall: place(func(c *middleware.Call) {
			c.Arguments = json.RawMessage(`{"path":"/"}`)
		})})), remove, 0},
		{"B297: other arguments per attempt", asked(inferred(chain.Standard{PerAttempt: place(func(c *middleware.Call) {
			c.Arguments = json.RawMessage(`{"path":"/"}`)
		})})), remove, 0},
		{"another scope after the approval", asked(inferred(chain.Standard{PerCall: place(func(c *middleware.Call) { c.Scope = "bob" })})), remove, 0},
		{"another tool after the approval", asked(inferred(chain.Standard{PerCall: place(func(c *middleware.Call) { c.Tool = definition(t, "delete_folder") })})), remove, 0},
		{"other arguments before the person", asked(inferred(chain.Standard{Outermost: place(func(c *middleware.Call) {
			c.Arguments = json.RawMessage(`{"path":"/"}`)
		})})), remove, 1},
		{"no tool", asked(inferred(chain.Standard{})), nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			executed := 0
			_, err := tt.chain.Then(guarded(&executed, nil)).CallTool(t.Context(), middleware.Call{Tool: tt.tool})
			if executed != tt.runs || errors.Is(err, chain.ErrRefused) != (tt.runs == 0) {
				t.Errorf("executed %d times, want %d; error %v", executed, tt.runs, err)
			}
		})
	}
}

// Wrong orders made by hand ask too often or lose an approval; none executes twice or unasked.
func TestWrongOrderExecutesNothingTwiceOrUnasked(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	again := func() middleware.Middleware { return retry.New(retry.Options{Rand: func() float64 { return 0 }}) }
	memory := func() middleware.Middleware {
		return cache.New(cache.Options{Idempotent: true})
	}
	twice := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			_, _ = next.CallTool(ctx, call)
			return next.CallTool(ctx, call)
		})
	}
	for _, tt := range []struct {
		name            string
		links           func(ask middleware.Middleware) []middleware.Middleware
		err             error
		asked, executed int // of two calls
	}{
		{"as argued", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{ask, memory(), again()}
		}, nil, 2, 2},
		{"as argued, lost", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{ask, memory(), again()}
		}, lost, 2, 2},
		{"B287: a cache outside the person", func(ask middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{memory(), ask} }, nil, 2, 2},
		{"B289: a retry outside the person, lost", func(ask middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{again(), ask} }, lost, 2, 2},
		{"B157: two retries, lost", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{ask, again(), again()}
		}, lost, 2, 2},
		{"B293: two confirmations", func(ask middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{ask, ask} }, nil, 2, 2},
		{"a middleware that calls next twice", func(ask middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{ask, twice} }, nil, 2, 2},
		{"a middleware that calls next twice, outside the confirmation", func(ask middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{twice, ask} }, nil, 4, 4},
		{"nobody to ask", func(middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{memory(), again()} }, nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked, executed := 0, 0
				ask := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
					asked++
					return hitl.Decision{Verdict: hitl.Approved}, nil
				}), hitl.Options{})
				c := chain.New(append([]middleware.Middleware{infer.New(infer.Options{})}, tt.links(ask)...)...).Then(guarded(&executed, tt.err))
				for range 2 {
					_, _ = c.CallTool(t.Context(), middleware.Call{Tool: definition(t, "delete_file")})
				}
				if asked != tt.asked || executed != tt.executed {
					t.Errorf("asked %d times and executed %d, want %d and %d", asked, executed, tt.asked, tt.executed)
				}
			})
		})
	}
}

// unsent is an error of an executor with a broken connection.
type unsent struct{}

func (unsent) Error() string { return "the connection is down" }
func (unsent) NotSent() bool { return true }

// B127: one approval serves all attempts until the call has left.
func TestOneApprovalServesAttemptsThatWereNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, executed := 0, 0
		s := whole(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			asked++
			return hitl.Decision{Verdict: hitl.Approved}, nil
		}))
		c := s.Then(chain.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			if executed++; executed < 3 {
				return nil, unsent{}
			}
			return answer, nil
		})))
		if _, err := c.CallTool(t.Context(), middleware.Call{Tool: definition(t, "delete_file")}); err != nil {
			t.Error(err)
		}
		if asked != 1 || executed != 3 {
			t.Errorf("asked %d times, %d attempts, want 1 and 3", asked, executed)
		}
	})
}

// One destructive yes stops the retry, keeps the answer out of memory, routes to
// the primaries, and asks.
func TestOneHintDrivesAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                  string
		hint                  annotation.Hint
		asked, executed, kept int
	}{{"destructive", annotation.Yes, 1, 1, 2}, {"not destructive", annotation.No, 0, 3, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := annotation.Annotations{ReadOnly: annotation.Yes, Destructive: tt.hint, Freshness: annotation.Stable}
				asked, executed := 0, 0
				s := whole(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
					asked++
					return hitl.Decision{Verdict: hitl.Approved}, nil
				}))
				on := definition(t, "frobnicate")
				on.Annotations = a
				_, _ = s.Then(guarded(&executed, errors.New("lost"))).CallTool(t.Context(), middleware.Call{Tool: on})
				if asked != tt.asked || executed != tt.executed {
					t.Errorf("asked %d times and executed %d, want %d and %d", asked, executed, tt.asked, tt.executed)
				}
				executed = 0
				c := s.Then(guarded(&executed, nil))
				for range 2 {
					_, _ = c.CallTool(t.Context(), middleware.Call{Tool: on})
				}
				if executed != tt.kept {
					t.Errorf("two calls were executed %d times, want %d", executed, tt.kept)
				}
				var main, replica int
				s.Cache, s.Route = nil, route.New(route.Options{}, route.NewPool(on.Server, route.RoundRobin,
					route.Replica{ID: "main", Weight: 80, Caller: guarded(&main, nil)}, route.Replica{ID: "replica", Weight: 20, Caller: guarded(&replica, nil)}))
				c = s.Then(guarded(&executed, nil))
				for range 8 {
					_, _ = c.CallTool(t.Context(), middleware.Call{Tool: on})
				}
				if main+replica != 8 || (replica > 0) != (tt.hint == annotation.No) {
					t.Errorf("of 8 calls %d went to the main one and %d to the replica", main, replica)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

func ExampleNew() {
	say := func(name string) middleware.Middleware {
		return func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				fmt.Println(name)
				return next.CallTool(ctx, call)
			})
		}
	}
	executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("executor")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	_, err := chain.New(say("first"), say("second")).Then(executor).CallTool(context.Background(), middleware.Call{})
	fmt.Println(err)
	// Output:
	// first
	// second
	// executor
	// <nil>
}

// In any chain, the guard refuses a deletion without an approval.
func ExampleGuard() {
	executor := chain.Guard(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("executed:", call.Tool.Name())
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	}))
	caller := chain.New(infer.New(infer.Options{})).Then(executor)
	for _, name := range []string{"list_files", "delete_file"} {
		tool, err := middleware.NewTool("files", &mcp.Tool{Name: name}, annotation.Annotations{})
		if err != nil {
			panic(err)
		}
		if _, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// executed: list_files
	// fairlead: files/delete_file was refused: it is dangerous and nobody approved it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads
}

// The guard costs nothing for a Safe call and at most two allocations for one that
// a person has agreed to, more than the same call costs without it.
func TestGuardCosts(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	bare := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return answer, nil })
	accepting := func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil }
	granted := func(next middleware.ToolCaller) middleware.ToolCaller { // as hitl does, without the person
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			ctx, yes := callstate.WithGrant(ctx, &call, annotation.Dangerous, time.Hour, nil)
			defer yes.Void()
			return next.CallTool(ctx, call)
		})
	}
	plain := func(next middleware.ToolCaller) middleware.ToolCaller { return next }
	for _, tt := range []struct {
		name    string
		outside middleware.Middleware
		guard   middleware.Middleware
		tool    *middleware.Tool
		most    float64
	}{
		{"a safe call", plain, func(next middleware.ToolCaller) middleware.ToolCaller { return guard.New(next, accepting) }, tool(t, "look", annotation.ReadOnly()), 0},
		{"a moderate call", plain, func(next middleware.ToolCaller) middleware.ToolCaller { return guard.New(next, accepting) }, tool(t, "add", annotation.Write()), 0},
		{"a safe call that infer has classed", infer.New(infer.Options{}), chain.Guard, definition(t, "list_files"), 0},
		{"a granted call", granted, func(next middleware.ToolCaller) middleware.ToolCaller { return guard.New(next, accepting) }, tool(t, "destroy", annotation.Destructive()), 2},
	} {
		allocations := func(executor middleware.ToolCaller) float64 {
			caller, ctx := tt.outside(executor), context.Background()
			call := middleware.Call{Tool: tt.tool, Arguments: arguments200}
			return testing.AllocsPerRun(200, func() {
				if _, err := caller.CallTool(ctx, call); err != nil {
					t.Fatal(tt.name, err)
				}
			})
		}
		without, with := allocations(bare), allocations(tt.guard(bare))
		t.Logf("%s: %v allocations without the guard, %v with it", tt.name, without, with)
		if with-without > tt.most {
			t.Errorf("%s: the guard allocates %v times, want at most %v", tt.name, with-without, tt.most)
		}
	}
}
