package hitl_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Two calls are one to a yes only if they are alike in every byte that is sent,
// whatever a dialog shows of them, and whatever the model calls them.
func TestEachCallNeedsItsOwnApproval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		second func(c *middleware.Call)
	}{
		{"B245: only what a dialog would hide differs", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"user":"ann","password":"b"}`) }},
		{"B321: the same call ID, another path", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"/etc"}`) }},
		{"B321: the same call ID, the same call", func(*middleware.Call) {}},
		{"B317: the second leg of what the server asked", func(c *middleware.Call) { c.Input = &middleware.Input{State: "opaque"} }},
		{"B317: the second leg, with another state", func(c *middleware.Call) { c.Input = &middleware.Input{State: "of another call"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, p, its := new(executor), agreeable(), deletes(t)
			its.Arguments = json.RawMessage(`{"user":"ann","password":"a"}`)
			e.do = func(n int) (*mcp.CallToolResult, error) {
				if n == 1 {
					return &mcp.CallToolResult{RequestState: "opaque"}, nil
				}
				return done, nil
			}
			c := hitl.New(p, hitl.Options{})(guarded(e))
			if _, err := c.CallTool(t.Context(), its); err != nil {
				t.Fatal(err)
			}
			p.want(t, 1)
			p.decision = hitl.Decision{}
			tt.second(&its)
			res, err := c.CallTool(t.Context(), its)
			wantDenied(t, res, err)
			p.want(t, 2)
			e.want(t, 1)
		})
	}
}

// Nothing that the server answers to one call extends its yes to another: a host
// middleware that goes on by itself goes on without one.
func TestStateOfTheServerExtendsNoApproval(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *middleware.Call){
		"B317: other arguments":    func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"/"}`) },
		"B317: another tool":       func(c *middleware.Call) { c.Tool = tool(t, "purge", annotation.Destructive()) },
		"B317: the same once more": func(*middleware.Call) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, p := new(executor), agreeable()
			e.do = func(int) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{RequestState: "go on"}, nil }
			c := between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				res, err := next.CallTool(ctx, call)
				if err != nil {
					return nil, err
				}
				change(&call)
				call.Input = &middleware.Input{State: res.RequestState}
				return next.CallTool(ctx, call)
			}, e, hitl.Options{})
			if _, err := c.CallTool(t.Context(), deletes(t)); !errors.Is(err, guard.ErrRefused) {
				t.Errorf("got error %v, want a refusal of the second leg", err)
			}
			p.want(t, 1)
			e.want(t, 1)
		})
	}
}

// between returns a caller that asks p, passes what inside makes of the call, and
// ends in a guarded e.
func between(p hitl.Confirmer, inside func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error), e *executor, o hitl.Options) middleware.ToolCaller {
	next := guarded(e)
	return hitl.New(p, o)(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		return inside(ctx, call, next)
	}))
}

func TestApprovalIsBoundToExactlyThisCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(call *middleware.Call)
		runs   bool
	}{
		{"nothing changed", func(*middleware.Call) {}, true},
		{"another call ID", func(c *middleware.Call) { c.ID = "other" }, true},
		{"a copy of the tool", func(c *middleware.Call) { other := *c.Tool; c.Tool = &other }, true},
		{"B297: other arguments", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"/"}`) }, false},
		{"B297: a space more", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path": "a.txt"}`) }, false},
		{"no arguments", func(c *middleware.Call) { c.Arguments = nil }, false},
		{"another scope", func(c *middleware.Call) { c.Scope = "bob" }, false},
		{"another server", func(c *middleware.Call) { other := *c.Tool; other.Server = "mail"; c.Tool = &other }, false},
		{"another tool", func(c *middleware.Call) { c.Tool = tool(t, "purge", annotation.Destructive()) }, false},
		{"another name under the same digest", func(c *middleware.Call) {
			other := *c.Tool
			other.Definition = &mcp.Tool{Name: "purge"}
			c.Tool = &other
		}, false},
		{"another definition", func(c *middleware.Call) { other := *c.Tool; other.Digest[0]++; c.Tool = &other }, false},
		{"a tool of which nothing is known", func(c *middleware.Call) {
			other := *c.Tool
			other.Annotations, other.Digest = annotation.Annotations{}, middleware.Digest{}
			c.Tool = &other
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, p := new(executor), agreeable()
			c := between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				tt.change(&call)
				return next.CallTool(ctx, call)
			}, e, hitl.Options{})
			_, err := c.CallTool(t.Context(), deletes(t))
			p.want(t, 1)
			if tt.runs {
				e.want(t, 1)
				return
			}
			e.want(t, 0)
			if !errors.Is(err, guard.ErrRefused) || !middleware.NotSent(err) || !middleware.Permanent(err) {
				t.Errorf("got error %v, want a refusal that is final", err)
			}
		})
	}
}

func TestOneApprovalIsOneExecution(t *testing.T) {
	t.Parallel()
	t.Run("one after the other", func(t *testing.T) {
		t.Parallel()
		e, p := new(executor), agreeable()
		c := between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
			_, first := next.CallTool(ctx, call)
			_, second := next.CallTool(ctx, call)
			if first != nil || !errors.Is(second, guard.ErrRefused) {
				t.Errorf("got errors %v and %v, want the second to be refused", first, second)
			}
			return done, nil
		}, e, hitl.Options{})
		_, _ = c.CallTool(t.Context(), deletes(t))
		p.want(t, 1)
		e.want(t, 1)
	})
	t.Run("100 at once", func(t *testing.T) {
		t.Parallel()
		e, p := new(executor), agreeable()
		c := between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() { _, _ = next.CallTool(ctx, call) })
			}
			wg.Wait()
			return done, nil
		}, e, hitl.Options{})
		_, _ = c.CallTool(t.Context(), deletes(t))
		p.want(t, 1)
		e.want(t, 1)
	})
}

// A fact is an error that says whether the call left, and whether it was turned away.
type fact struct{ notSent, refused bool }

func (fact) Error() string   { return "it failed" }
func (f fact) NotSent() bool { return f.notSent }
func (f fact) Refused() bool { return f.refused }

// repeat calls next up to three times, as a retry inside or outside does.
func repeat(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (res *mcp.CallToolResult, err error) {
	for range 3 {
		if res, err = fault.Recover(next).CallTool(ctx, call); err == nil && !res.IsError {
			return res, nil
		}
	}
	return res, err
}

func TestApprovalIsGivenBackOnlyIfTheCallWasNotCarriedOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		first func() (*mcp.CallToolResult, error)
		runs  int
	}{
		{"B127: not sent", func() (*mcp.CallToolResult, error) { return nil, fact{notSent: true} }, 2},
		{"refused before execution", func() (*mcp.CallToolResult, error) { return nil, fact{refused: true} }, 2},
		{"B123: an unknown outcome", func() (*mcp.CallToolResult, error) { return nil, errors.New("lost") }, 1},
		{"an error that says that it left", func() (*mcp.CallToolResult, error) { return nil, fact{} }, 1},
		{"cancelled on its way", func() (*mcp.CallToolResult, error) { return nil, context.Canceled }, 1},
		{"a failure that the tool reported", func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{IsError: true}, nil }, 1},
		{"B137: a panic", func() (*mcp.CallToolResult, error) { panic("boom") }, 1},
		{"no answer", func() (*mcp.CallToolResult, error) { return nil, nil }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, p := new(executor), agreeable()
			e.do = func(n int) (*mcp.CallToolResult, error) {
				if n == 1 {
					return tt.first()
				}
				return done, nil
			}
			_, err := between(p, repeat, e, hitl.Options{}).CallTool(t.Context(), deletes(t))
			p.want(t, 1)
			e.want(t, tt.runs)
			if tt.runs == 2 && err != nil {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// A retry further out asks again for each attempt, and a no ends it.
func TestRetryOutsideCannotUseOneApprovalTwice(t *testing.T) {
	t.Parallel()
	e := new(executor)
	e.do = func(int) (*mcp.CallToolResult, error) { return nil, errors.New("lost") }
	asked := 0
	inner := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		if asked++; asked == 1 {
			return yes, nil
		}
		return hitl.Decision{}, nil
	}), hitl.Options{})(guarded(e))
	_, err := repeat(t.Context(), deletes(t), inner)
	if asked != 3 || !errors.Is(err, hitl.ErrDenied) {
		t.Errorf("asked %d times, error %v", asked, err)
	}
	e.want(t, 1)
}

func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		lifetime, wait time.Duration
		runs           int
	}{
		{"0 means 5 minutes", 0, 5*time.Minute - 1, 1},
		{"B301: after 5 minutes", 0, 5 * time.Minute, 0},
		{"as the host says", time.Hour, time.Hour - 1, 1},
		{"after that", time.Hour, time.Hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, p := new(executor), agreeable()
				_, err := between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
					time.Sleep(tt.wait)
					return next.CallTool(ctx, call)
				}, e, hitl.Options{Lifetime: tt.lifetime}).CallTool(t.Context(), deletes(t))
				e.want(t, tt.runs)
				if errors.Is(err, guard.ErrRefused) != (tt.runs == 0) {
					t.Errorf("got error %v", err)
				}
			})
		})
	}
}

func TestGivingBackDoesNotExtendAnApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, p := new(executor), agreeable()
		e.do = func(int) (*mcp.CallToolResult, error) { return nil, fact{notSent: true} }
		_, _ = between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
			for range 10 {
				_, _ = next.CallTool(ctx, call)
				time.Sleep(time.Minute)
			}
			return nil, fact{notSent: true}
		}, e, hitl.Options{}).CallTool(t.Context(), deletes(t))
		e.want(t, 5)
	})
}

func TestApprovalIsVoidAfterTheReturn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		inner error // of a call that was under way when the caller returned
	}{{"B299: nothing under way", nil}, {"B299: a call under way is given back too late", fact{notSent: true}}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, p := new(executor), agreeable()
				e.do = func(int) (*mcp.CallToolResult, error) {
					time.Sleep(time.Minute)
					return nil, tt.inner
				}
				var late error
				_, _ = between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
					if tt.inner != nil {
						go func() { _, _ = next.CallTool(ctx, call) }()
					}
					go func() {
						time.Sleep(2 * time.Minute)
						_, late = next.CallTool(ctx, call)
					}()
					time.Sleep(time.Second)
					return done, nil
				}, e, hitl.Options{}).CallTool(t.Context(), deletes(t))
				time.Sleep(time.Hour)
				synctest.Wait()
				if !errors.Is(late, guard.ErrRefused) {
					t.Errorf("got error %v, want a refusal", late)
				}
				want := 0
				if tt.inner != nil {
					want = 1
				}
				e.want(t, want)
			})
		})
	}
}

// An executor may be a chain of its own: a host around a host.
func TestNestedChainsAskOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		inside func(call *middleware.Call)
		asked  int64 // by the inner chain
	}{
		{"the same call", func(*middleware.Call) {}, 0},
		{"other arguments", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{}`) }, 1},
		{"another tool", func(c *middleware.Call) { c.Tool = tool(t, "purge", annotation.Destructive()) }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, outer, inner := new(executor), agreeable(), agreeable()
			innermost := hitl.New(inner, hitl.Options{})(guarded(e))
			c := hitl.New(outer, hitl.Options{})(guarded(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				tt.inside(&call)
				_, _ = innermost.CallTool(ctx, call)
				inner.want(t, tt.asked)
				e.want(t, 1)
				return innermost.CallTool(ctx, call) // the yes is used up: it asks for itself
			})))
			if _, err := c.CallTool(t.Context(), deletes(t)); err != nil {
				t.Fatal(err)
			}
			outer.want(t, 1)
			inner.want(t, tt.asked+1)
			e.want(t, 2)
		})
	}
}

// B293: where two ask, the second finds the yes of the first.
func TestTwoInOneChainAskOnce(t *testing.T) {
	t.Parallel()
	for _, its := range []middleware.Call{deletes(t), {Tool: tool(t, "write", annotation.Write())}} {
		e, outer, inner := new(executor), agreeable(), new(person)
		o := hitl.Options{Writes: true}
		if _, err := hitl.New(outer, o)(hitl.New(inner, o)(guarded(e))).CallTool(t.Context(), its); err != nil {
			t.Fatal(err)
		}
		outer.want(t, 1)
		inner.want(t, 0)
		e.want(t, 1)
	}
}

// A yes that was edited further out covers the call as it was edited.
func TestInnerChainSeesTheEditedCall(t *testing.T) {
	t.Parallel()
	e, outer, inner := new(executor), agreeable(), new(person)
	outer.decision.Arguments = json.RawMessage(`{"path":"b.txt"}`)
	if _, err := hitl.New(outer, hitl.Options{})(hitl.New(inner, hitl.Options{})(guarded(e))).CallTool(t.Context(), deletes(t)); err != nil {
		t.Fatal(err)
	}
	inner.want(t, 0)
	e.want(t, 1)
	if got := string(e.calls[0].Arguments); !strings.Contains(got, "b.txt") {
		t.Errorf("executed with %s", got)
	}
}

// A yes to a call that was shown as a moderate one does not count for a dangerous one: a
// kinder copy of the tool buys no kinder question.
func TestApprovalOfAMilderClassIsNone(t *testing.T) {
	t.Parallel()
	accepted := tool(t, "delete", annotation.Destructive())
	kinder := *accepted
	kinder.Annotations = annotation.Write()
	its := deletes(t)
	its.Tool = &kinder
	t.Run("at the guard", func(t *testing.T) {
		t.Parallel()
		e, p := new(executor), agreeable()
		guards := guard.New(e, func(context.Context, middleware.Call) (*middleware.Tool, error) { return accepted, nil })
		_, err := hitl.New(p, hitl.Options{Writes: true})(guards).CallTool(t.Context(), its)
		if p.want(t, 1); !errors.Is(err, guard.ErrRefused) || !middleware.NotSent(err) {
			t.Errorf("got error %v, want a refusal", err)
		}
		e.want(t, 0)
	})
	t.Run("to a chain further in", func(t *testing.T) {
		t.Parallel()
		var shown []string
		e := new(executor)
		asks := hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
			shown = append(shown, r.Tool.Safety().String())
			return yes, nil
		}), hitl.Options{Writes: true})
		inner := asks(guarded(e))
		outer := asks(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			call.Tool = accepted // further in more is known
			return inner.CallTool(ctx, call)
		}))
		if _, err := outer.CallTool(t.Context(), its); err != nil || strings.Join(shown, " ") != "moderate dangerous" {
			t.Errorf("shown as %v, with error %v; want moderate and dangerous", shown, err)
		}
		e.want(t, 1)
	})
	t.Run("an edit that made the class kinder is to what was shown", func(t *testing.T) {
		t.Parallel()
		e := new(executor)
		guards := guard.New(e, func(context.Context, middleware.Call) (*middleware.Tool, error) { return accepted, nil })
		edits := &person{decision: hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"path":"b.txt"}`)}}
		classify := func(context.Context, middleware.Call) (*middleware.Tool, error) { return &kinder, nil }
		its := deletes(t)
		its.Tool = accepted
		if _, err := hitl.New(edits, hitl.Options{})(guards).CallTool(callstate.WithJudge(t.Context(), classify), its); err != nil {
			t.Errorf("got error %v", err)
		}
		e.want(t, 1)
	})
}

// How a call is taken back is reported for each call that has succeeded, asked about or not, and for no other.
func TestUndoableIsReportedOfCallsNobodyWasAskedAbout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		known annotation.Annotations
		res   *mcp.CallToolResult
		asked bool
		want  int
	}{
		{"asked about", annotation.Destructive(), done, true, 1},
		{"not asked about", annotation.Write(), done, false, 1},
		{"not asked about, failed", annotation.Write(), &mcp.CallToolResult{IsError: true}, false, 0},
		{"a read", annotation.ReadOnly(), done, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, p := new(executor), agreeable()
			e.do = func(int) (*mcp.CallToolResult, error) { return tt.res, nil }
			var got []hitl.Undo
			c := hitl.New(p, hitl.Options{
				Inverse: func(_ context.Context, call middleware.Call) (hitl.Inverse, bool) {
					return hitl.Inverse{Server: "files", Tool: "back", Arguments: func(*mcp.CallToolResult) (json.RawMessage, bool) { return call.Arguments, true }}, true
				},
				OnUndoable: func(_ context.Context, _ middleware.Call, by hitl.Undo) {
					got = append(got, by)
					panic("which is logged")
				},
			})(guarded(e))
			call := deletes(t)
			call.Tool = tool(t, "change", tt.known)
			if _, err := c.CallTool(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			if len(got) != tt.want || tt.want == 1 && (got[0].Tool != "back" || string(got[0].Arguments) != string(call.Arguments) || (got[0].Question != "") != tt.asked) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A call of Options.Anew is asked about whatever its class, and whatever is remembered.
func TestAnewAsksInAnyCase(t *testing.T) {
	t.Parallel()
	e := new(executor)
	var asked []hitl.Request
	anew := false
	c := hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		asked = append(asked, r)
		return hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session}, nil
	}), hitl.Options{Remember: hitl.Session, Anew: func(context.Context, middleware.Call) bool { return anew }})(guarded(e))
	write := deletes(t)
	write.Tool = tool(t, "change", annotation.Write())
	for _, step := range []struct {
		call middleware.Call
		anew bool
		want int
	}{{deletes(t), false, 1}, {deletes(t), false, 1}, {deletes(t), true, 2}, {write, false, 2}, {write, true, 3}} {
		anew = step.anew
		if _, err := c.CallTool(t.Context(), step.call); err != nil {
			t.Fatal(err)
		}
		if len(asked) != step.want {
			t.Fatalf("asked %d times, want %d", len(asked), step.want)
		}
		if last := asked[len(asked)-1]; step.anew && (!last.Anew || len(last.Offers) > 0) {
			t.Errorf("asked %+v", last)
		}
	}
	e.want(t, 5)
}
