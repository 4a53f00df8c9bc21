package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A desk answers several questions at once, and notes which dialogs there were.
type desk struct {
	decide func(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error)

	mu      sync.Mutex
	dialogs []string
}

func (d *desk) Confirm(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
	said, err := d.ConfirmGroup(ctx, []hitl.Request{r})
	return said[r.ID], err
}

func (d *desk) ConfirmGroup(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
	var ids []string
	for _, r := range requests {
		ids = append(ids, r.CallID)
	}
	d.mu.Lock()
	d.dialogs = append(d.dialogs, strings.Join(ids, " "))
	d.mu.Unlock()
	return d.decide(ctx, requests)
}

// only approves the calls with these ids, in an order of its own.
func only(ids ...string) func(context.Context, []hitl.Request) (map[string]hitl.Decision, error) {
	return func(_ context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
		time.Sleep(time.Second)
		said := map[string]hitl.Decision{"nobody asked this": {Verdict: hitl.Approved}}
		for _, r := range slices.Backward(requests) {
			if slices.Contains(ids, r.CallID) {
				said[r.ID] = hitl.Decision{Verdict: hitl.Approved, By: "desk"}
			}
		}
		return said, nil
	}
}

func (d *desk) caller(w *world, more ...middleware.Middleware) middleware.ToolCaller {
	return chain.Standard{Outermost: more, Confirm: hitl.New(d, hitl.Options{})}.Then(w.tools)
}

func TestDangerousCallsAreAskedAboutTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t), &desk{decide: only("c1", "c4")}
		calls := w.calls(t, "b get", "a delete", "a delete", "b create", "b delete", "a get")
		began := time.Now()
		out := batch.Run(t.Context(), d.caller(w), calls)
		if !slices.Equal(d.dialogs, []string{"c1 c2 c4"}) {
			t.Errorf("the dialogs were %q", d.dialogs)
		}
		if got, want := w.ran(), []string{"c0", "c1", "c3", "c4", "c5"}; !slices.Equal(got, want) {
			t.Errorf("ran %v, want %v", got, want)
		}
		if !errors.Is(out[2].Err, hitl.ErrDenied) {
			t.Errorf("what got no answer ended in %v", out[2].Err)
		}
		if took := time.Since(began); took != 1100*time.Millisecond {
			t.Errorf("it took %v: a second for the one dialog, and two calls one after the other", took)
		}
		if faults := w.faults(calls); len(faults) > 0 {
			t.Error(faults)
		}
	})
}

// An approval of one of two calls that differ only in their arguments runs that one.
func TestEachDecisionIsForItsOwnCall(t *testing.T) {
	t.Parallel()
	lines := repeat(6, "a delete")
	for yes := range lines {
		synctest.Test(t, func(t *testing.T) {
			id := fmt.Sprintf("c%d", yes)
			w, d := newWorld(t), &desk{decide: only(id)}
			out := batch.Run(t.Context(), d.caller(w), w.calls(t, lines...))
			if got := w.ran(); !slices.Equal(got, []string{id}) {
				t.Errorf("the approval was for %s, and %v ran", id, got)
			}
			for i, o := range out {
				if denied := errors.Is(o.Err, hitl.ErrDenied); denied == (i == yes) {
					t.Errorf("with an approval for %s, c%d ended in %v", id, i, text(o))
				}
			}
		})
	}
}

// Two that are the same are two questions, and a plain yes is good for one.
func TestIdenticalCallsOfATurnAreAskedOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t), &desk{decide: only("c0", "c1")}
		calls := w.calls(t, "a delete", "a delete")
		calls[1].Arguments = calls[0].Arguments
		batch.Run(t.Context(), d.caller(w), calls)
		if !slices.Equal(d.dialogs, []string{"c0", "c1"}) || len(w.ran()) != 2 {
			t.Errorf("the dialogs were %q, and %v ran", d.dialogs, w.ran())
		}
	})
}

func TestOneQuestionAloneIsNotAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		alone := &single{}
		caller := chain.Standard{Confirm: hitl.New(alone, hitl.Options{})}.Then(w.tools)
		if out := batch.Run(t.Context(), caller, w.calls(t, "a get", "a delete")); out[1].Err != nil || alone.asked != 1 {
			t.Errorf("got %v, asked %d times", out[1].Err, alone.asked)
		}
		if _, err := caller.CallTool(t.Context(), w.calls(t, "b delete")[0]); err != nil || alone.asked != 2 {
			t.Errorf("outside a batch: %v, asked %d times", err, alone.asked)
		}
	})
}

type single struct{ asked int }

func (s *single) Confirm(context.Context, hitl.Request) (hitl.Decision, error) {
	s.asked++
	return hitl.Decision{Verdict: hitl.Approved}, nil
}

func (*single) ConfirmGroup(context.Context, []hitl.Request) (map[string]hitl.Decision, error) {
	return nil, errors.New("one question is not a group")
}

func TestDialogThatFailsDeniesAll(t *testing.T) {
	t.Parallel()
	type said = map[string]hitl.Decision
	for name, decide := range map[string]func(context.Context, []hitl.Request) (said, error){
		"an error": func(_ context.Context, r []hitl.Request) (said, error) {
			return said{r[0].ID: {Verdict: hitl.Approved}}, errors.New("the desk is closed")
		},
		"a panic": func(context.Context, []hitl.Request) (said, error) { panic("the desk burns") },
		"nothing": func(context.Context, []hitl.Request) (said, error) { return nil, nil },
		"odd":     func(_ context.Context, r []hitl.Request) (said, error) { return said{r[0].ID: {Verdict: 7}}, nil },
		"call ids": func(_ context.Context, r []hitl.Request) (said, error) {
			return said{r[0].CallID: {Verdict: hitl.Approved}}, nil
		},
		"silence": func(ctx context.Context, r []hitl.Request) (said, error) {
			<-ctx.Done()
			return said{r[0].ID: {Verdict: hitl.Approved}, r[1].ID: {Verdict: hitl.Approved}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, d := newWorld(t), &desk{decide: decide}
				began := time.Now()
				for _, o := range batch.Run(t.Context(), d.caller(w), w.calls(t, "a delete", "b delete")) {
					if !errors.Is(o.Err, hitl.ErrDenied) {
						t.Errorf("%s ended in %v", o.Call.ID, text(o))
					}
				}
				if took := time.Since(began); len(w.ran()) > 0 || took > 30*time.Second {
					t.Errorf("%v ran, after %v", w.ran(), took)
				}
			})
		})
	}
}

// One caller's end does not take the question away from the others.
func TestDialogOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := &desk{decide: func(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
			select {
			case <-time.After(10 * time.Second):
				return only("c0", "c1", "c2")(ctx, requests)
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}}
		hurried := func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				if call.ID != "c1" {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 5*time.Second)
					defer cancel()
				}
				return next.CallTool(ctx, call)
			})
		}
		out := batch.Run(t.Context(), d.caller(w, hurried), w.calls(t, "a delete", "b delete", "a delete"))
		if out[1].Err != nil || !errors.Is(out[0].Err, context.DeadlineExceeded) || !errors.Is(out[2].Err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v, %v", out[0].Err, out[1].Err, out[2].Err)
		}
		if !slices.Equal(w.ran(), []string{"c1"}) {
			t.Errorf("ran %v", w.ran())
		}
	})
}

func TestDialogEndsWithItsLastWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, ended := newWorld(t), time.Time{}
		d := &desk{decide: func(ctx context.Context, _ []hitl.Request) (map[string]hitl.Decision, error) {
			<-ctx.Done()
			ended = time.Now()
			return nil, context.Cause(ctx)
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		batch.Run(ctx, d.caller(w), w.calls(t, "a delete", "b delete"))
		synctest.Wait()
		if took := ended.Sub(began); took != 3*time.Second {
			t.Errorf("the dialog was open for %v", took)
		}
	})
}

// A slow call is asked about alone, and does not delay others for long.
func TestDialogDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, d := newWorld(t), &desk{decide: only("c0", "c1", "c2")}
		slow := func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				if call.ID == "c2" {
					time.Sleep(10 * time.Second)
				}
				return next.CallTool(ctx, call)
			})
		}
		batch.Run(t.Context(), d.caller(w, slow), w.calls(t, "a delete", "b delete", "a delete"))
		if !slices.Equal(d.dialogs, []string{"c0 c1", "c2"}) || len(w.ran()) != 3 {
			t.Errorf("the dialogs were %q, and %v ran", d.dialogs, w.ran())
		}
	})
}
