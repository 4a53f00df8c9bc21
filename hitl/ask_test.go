package hitl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
)

func TestAmbiguousArgumentsAreRefusedBeforeAnyoneIsAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arguments, want string }{
		{"B055: a member twice", `{"id":1,"id":2}`, `the member "id" is given twice`},
		{"a member twice, one of them escaped", `{"id":1,"\u0069d":2}`, `the member "id" is given twice`},
		{"a member twice, deep inside", `{"a":[{"id":1,"id":2}]}`, `the member "id" is given twice`},
		{"B059: half a surrogate pair", `{"path":"\ud800"}`, "surrogate"},
		{"B065: a number beyond float64", `{"x":1e400}`, "out of range"},
		{"B067: 10,001 nested arrays", `{"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`, "nested"},
		{"B069: 32 MiB", `{"x":"` + strings.Repeat("x", 32<<20) + `"}`, "limit"},
		{"B071: an array", `[]`, "not a JSON object"},
		{"B071: a text", `"text"`, "not a JSON object"},
		{"B071: null", `null`, "not a JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, p, its := new(executor), agreeable(), deletes(t)
			its.Arguments = json.RawMessage(tt.arguments)
			res, err := hitl.New(p, hitl.Options{})(guarded(e)).CallTool(t.Context(), its)
			if res != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !middleware.NotSent(err) {
				t.Errorf("got %v and error %v, want one that says %s", res, err, tt.want)
			}
			p.want(t, 0)
			e.want(t, 0)
		})
	}
}

func TestDangerousAndUnknownAreAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		a           annotation.Annotations
		asked       int64
		askedWrites int64 // with Options.Writes
	}{
		{"safe", annotation.ReadOnly(), 0, 0},
		{"moderate", annotation.Write(), 0, 1},
		{"moderate and idempotent", annotation.Update(), 0, 1},
		{"dangerous", annotation.Destructive(), 1, 1},
		{"needs confirmation", annotation.Annotations{ReadOnly: annotation.Yes, RequiresConfirmation: annotation.Yes}, 1, 1},
		{"a write of which nobody said that it destroys nothing", annotation.Annotations{ReadOnly: annotation.No}, 1, 1},
		{"unknown", annotation.Annotations{}, 1, 1},
		{"a hint out of range", annotation.Annotations{Destructive: 9}, 1, 1},
	} {
		for _, writes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Writes %t", tt.name, writes), func(t *testing.T) {
				t.Parallel()
				want := tt.asked
				if writes {
					want = tt.askedWrites
				}
				e, p := new(executor), agreeable()
				its := middleware.Call{Tool: tool(t, "tool", tt.a)}
				if res, err := hitl.New(p, hitl.Options{Writes: writes})(guarded(e)).CallTool(t.Context(), its); res != done || err != nil {
					t.Errorf("after a yes: got %v and error %v", res, err)
				}
				p.want(t, want)
				e.want(t, 1)

				e, p = new(executor), new(person)
				res, err := hitl.New(p, hitl.Options{Writes: writes})(guarded(e)).CallTool(t.Context(), its)
				p.want(t, want)
				e.want(t, 1-int(want))
				if want == 1 {
					wantDenied(t, res, err)
				}
			})
		}
	}
}

func TestPendingQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("B183: 1,000 calls at once, 2 may wait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := new(executor)
			var asked atomic.Int64
			open := make(chan struct{})
			c := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				asked.Add(1)
				<-open
				return yes, nil
			}), hitl.Options{MaxPending: 2})(guarded(e))
			var denied atomic.Int64
			var wg sync.WaitGroup
			for i := range 1000 {
				wg.Go(func() {
					if _, err := c.CallTool(t.Context(), numbered(t, i)); errors.Is(err, hitl.ErrDenied) {
						if !strings.Contains(err.Error(), "2 questions are open") {
							t.Errorf("got error %v", err)
						}
						denied.Add(1)
					}
				})
			}
			synctest.Wait()
			if denied.Load() != 998 || asked.Load() != 2 {
				t.Errorf("asked %d times and denied %d at once, want 2 and 998", asked.Load(), denied.Load())
			}
			close(open)
			wg.Wait()
			e.want(t, 2)
			if _, err := c.CallTool(t.Context(), deletes(t)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	})
	t.Run("0 means 100", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			c := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
				asked.Add(1)
				<-ctx.Done()
				return hitl.Decision{}, nil
			}), hitl.Options{})(guarded(new(executor)))
			var wg sync.WaitGroup
			for i := range 150 {
				wg.Go(func() { _, _ = c.CallTool(t.Context(), numbered(t, i)) })
			}
			wg.Wait()
			if asked.Load() != 100 {
				t.Errorf("asked %d times, want 100", asked.Load())
			}
		})
	})
	t.Run("B179: a confirmer that has not returned counts", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := new(executor)
			stuck := make(chan struct{})
			var asked atomic.Int64
			c := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				if asked.Add(1) <= 2 {
					<-stuck
				}
				return yes, nil
			}), hitl.Options{MaxPending: 2})(guarded(e))
			for range 2 {
				_, _ = c.CallTool(t.Context(), deletes(t)) // silence
			}
			began := time.Now()
			res, err := c.CallTool(t.Context(), deletes(t))
			wantDenied(t, res, err)
			if asked.Load() != 2 || time.Since(began) != 0 {
				t.Errorf("asked %d times, denied after %v, want 2 and at once", asked.Load(), time.Since(began))
			}
			close(stuck)
			synctest.Wait()
			if _, err := c.CallTool(t.Context(), deletes(t)); err != nil {
				t.Errorf("after both had returned: %v", err)
			}
			e.want(t, 1)
		})
	})
}

// Who has an answer may ask again at once, whatever the answer was.
func TestAnswerFreesItsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ask  hitl.ConfirmerFunc
		o    hitl.Options
	}{
		{"yes", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil }, hitl.Options{}},
		{"no", func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil }, hitl.Options{}},
		{"panic", func(context.Context, hitl.Request) (hitl.Decision, error) { panic("boom") }, hitl.Options{}},
		{"Goexit", func(context.Context, hitl.Request) (hitl.Decision, error) { runtime.Goexit(); return yes, nil }, hitl.Options{}},
		{"About panics", func(context.Context, hitl.Request) (hitl.Decision, error) { return yes, nil },
			hitl.Options{About: func(context.Context, middleware.Call) (string, string) { panic("boom") }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.o.MaxPending = 1
			c := hitl.New(tt.ask, tt.o)(guarded(new(executor)))
			its := deletes(t)
			for i := range 3000 {
				if _, err := c.CallTool(t.Context(), its); err != nil && strings.Contains(err.Error(), "too many pending") {
					t.Fatalf("question %d: %v", i, err)
				}
			}
		})
	}
}

// Calls that are alike wait for one answer. A no is for all of them, and a yes for
// one.
func TestIdenticalQuestionsJoin(t *testing.T) {
	t.Parallel()
	const calls = 5
	for _, tt := range []struct {
		name             string
		decision         hitl.Decision
		err              error
		silent           bool
		asked            int64
		executed, denied int
	}{
		{"a no", hitl.Decision{Reason: "not today", By: "ann"}, nil, false, 1, 0, calls},
		{"no answer", hitl.Decision{}, errors.New("no screen"), false, 1, 0, calls},
		{"silence", hitl.Decision{}, nil, true, 1, 0, calls},
		{"a plain yes", yes, nil, false, calls, calls, 0},
		{"a yes for the session", hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session}, nil, false, 1, calls, 0},
		{"an edit", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{}`)}, nil, false, calls, calls, 0},
		{"an edit that cannot be sent", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`[]`)}, nil, false, calls, 0, calls},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, p := new(executor), &person{decision: tt.decision}
				var open, most atomic.Int64
				ask := hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
					most.Store(max(most.Load(), open.Add(1)))
					defer open.Add(-1)
					_, _ = p.Confirm(ctx, r)
					if time.Sleep(time.Second); tt.silent {
						<-ctx.Done()
					}
					return tt.decision, tt.err
				})
				c := hitl.New(ask, hitl.Options{Remember: hitl.Session})(guarded(e))
				var denied atomic.Int64
				var wg sync.WaitGroup
				for range calls {
					wg.Go(func() {
						_, err := c.CallTool(t.Context(), deletes(t))
						if no, ok := errors.AsType[*hitl.DeniedError](err); ok {
							denied.Add(1)
							if no.Reason != tt.decision.Reason || no.By != tt.decision.By {
								t.Errorf("got %+v", no)
							}
						}
					})
				}
				wg.Wait()
				p.want(t, tt.asked)
				e.want(t, tt.executed)
				if most.Load() != 1 || int(denied.Load()) != tt.denied {
					t.Errorf("%d questions at once, %d denied, want 1 and %d", most.Load(), denied.Load(), tt.denied)
				}
			})
		})
	}
}

func TestDifferentQuestionsDoNotJoin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := new(person)
		ask := hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
			time.Sleep(time.Second)
			return p.Confirm(ctx, r)
		})
		c := hitl.New(ask, hitl.Options{})(guarded(new(executor)))
		other, digest, class := deletes(t), deletes(t), deletes(t)
		other.Scope = "bob"
		digest.Tool.Digest[0]++
		class.Tool.Annotations = annotation.Annotations{}
		calls := []middleware.Call{deletes(t), other, digest, class, with(deletes(t), `{"path": "a.txt"}`)}
		var wg sync.WaitGroup
		for _, call := range calls {
			wg.Go(func() { _, _ = c.CallTool(t.Context(), call) })
		}
		wg.Wait()
		p.want(t, int64(len(calls)))
	})
}

// Who gives up takes nobody along.
func TestJoinedCallsDoNotShareACancellation(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := new(executor)
			c := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
				select {
				case <-time.After(5 * time.Second):
					return yes, nil
				case <-ctx.Done():
					return hitl.Decision{}, context.Cause(ctx)
				}
			}), hitl.Options{})(guarded(e))
			ctx, cancel := context.WithCancelCause(t.Context())
			errs := make([]error, 2)
			var wg sync.WaitGroup
			for i := range 2 {
				its := t.Context()
				if (i == 0) == first {
					its = ctx
				}
				wg.Go(func() {
					time.Sleep(time.Duration(i))
					_, errs[i] = c.CallTool(its, deletes(t))
				})
			}
			time.Sleep(time.Second)
			cancel(errGone)
			wg.Wait()
			if !first {
				errs[0], errs[1] = errs[1], errs[0]
			}
			if !errors.Is(errs[0], errGone) || errs[1] != nil {
				t.Errorf("got errors %v", errs)
			}
			e.want(t, 1)
		})
	}
}

func TestScopeHasItsShareOfTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := new(person)
		ask := hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
			time.Sleep(time.Second)
			return p.Confirm(ctx, r)
		})
		c := hitl.New(ask, hitl.Options{MaxPending: 10, MaxPendingPerScope: 3})(guarded(new(executor)))
		var full atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			call := numbered(t, i)
			if call.Scope = "ann"; i == 19 {
				call.Scope = "bob"
			}
			wg.Go(func() {
				if _, err := c.CallTool(t.Context(), call); strings.Contains(err.Error(), "3 questions of this scope are open") {
					full.Add(1)
				}
			})
		}
		wg.Wait()
		p.want(t, 4)
		if full.Load() != 16 {
			t.Errorf("%d were turned away, want 16", full.Load())
		}
		_, _ = c.CallTool(t.Context(), deletes(t))
		p.want(t, 5)
	})
}
