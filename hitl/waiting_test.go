package hitl_test

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A reader is a person who answers when they like. It counts the questions.
type reader struct {
	asked   atomic.Int32
	answers chan hitl.Decision
}

func (r *reader) Confirm(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
	r.asked.Add(1)
	select {
	case d := <-r.answers:
		return d, nil
	case <-ctx.Done():
		return hitl.Decision{}, context.Cause(ctx)
	}
}

// impatient is a chain whose calls wait ten seconds, for questions of a minute.
func impatient(r *reader, e *executor, store hitl.Store) middleware.ToolCaller {
	return hitl.New(r, hitl.Options{
		Timeout: time.Minute, MaxPending: 1, Store: store,
		WaitLimit: func(context.Context) (time.Duration, string) { return 10 * time.Second, "on a page" },
	})(guarded(e))
}

func wantWaiting(t *testing.T, c middleware.ToolCaller, call middleware.Call) {
	t.Helper()
	_, err := c.CallTool(t.Context(), call)
	var waiting *hitl.WaitingError
	if !errors.As(err, &waiting) || errors.Is(err, hitl.ErrDenied) || !middleware.NotSent(err) || waiting.Where != "on a page" {
		t.Fatalf("got %v, want a call that waits", err)
	}
}

// The identical call takes what was decided after its first call had ended, once.
func TestRepeatTakesTheDecisionOnce(t *testing.T) {
	t.Parallel()
	yes, no := hitl.Decision{Verdict: hitl.Approved, By: "Ann"}, hitl.Decision{By: "Ann", Reason: "archive it"}
	for _, tt := range []struct {
		name   string
		answer hitl.Decision
		runs   int
	}{{"a yes", yes, 1}, {"a no", no, 0}} {
		synctest.Test(t, func(t *testing.T) {
			e, r := new(executor), &reader{answers: make(chan hitl.Decision)}
			store := &ways{Store: approvals.NewMemory(), of: make(map[string]string)}
			c := impatient(r, e, store)
			wantWaiting(t, c, deletes(t))
			wantWaiting(t, c, deletes(t)) // still open, and not asked about again
			if r.asked.Load() != 1 {
				t.Errorf("%s: asked %d times, want once", tt.name, r.asked.Load())
			}
			r.answers <- tt.answer
			synctest.Wait()
			e.want(t, 0) // a decision executes nothing
			again := deletes(t)
			again.ID, again.Meta = "another", mcp.Meta{"progressToken": 7, "claudecode/toolUseId": "toolu_2"}
			_, err := c.CallTool(t.Context(), again)
			e.want(t, tt.runs)
			if denied := new(hitl.DeniedError); tt.runs == 0 && (!errors.As(err, &denied) || denied.Reason != "archive it") || tt.runs == 1 && err != nil {
				t.Errorf("%s: got %v", tt.name, err)
			}
			if tt.runs == 1 && e.calls[0].ID != "another" {
				t.Errorf("%s: the call was made as %+v", tt.name, e.calls[0])
			}
			wantWaiting(t, c, deletes(t)) // a question of its own
			if e.want(t, tt.runs); r.asked.Load() != 2 {
				t.Errorf("%s: asked %d times, want twice", tt.name, r.asked.Load())
			}
			time.Sleep(time.Hour)
		})
	}
}

// What is not the same call, or was shown otherwise, does not take the decision.
func TestAnotherCallTakesNoDecision(t *testing.T) {
	t.Parallel()
	untrusted := []middleware.Source{{Argument: "path", From: "result", Tool: "web/get", Rule: "a rule"}}
	for name, change := range map[string]func(*middleware.Call){
		"sources":   func(*middleware.Call) {},
		"arguments": func(c *middleware.Call) { c.Arguments = []byte(`{"path":"other"}`) },
		"scope":     func(c *middleware.Call) { c.Scope = "other" },
		"meta":      func(c *middleware.Call) { c.Meta = mcp.Meta{"tenant": "other"} },
		"evidence": func(c *middleware.Call) {
			tool := *c.Tool
			tool.Annotations = tool.Annotations.Attribute(annotation.Host, "the same call a minute ago may have happened")
			c.Tool = &tool
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e, r := new(executor), &reader{answers: make(chan hitl.Decision)}
			c := hitl.New(r, hitl.Options{Timeout: time.Minute, WaitLimit: func(context.Context) (time.Duration, string) { return time.Second, "" }})(guarded(e))
			_, _ = c.CallTool(t.Context(), deletes(t))
			r.answers <- hitl.Decision{Verdict: hitl.Approved}
			call, ctx := deletes(t), callstate.Begin(t.Context())
			if change(&call); name == "sources" {
				ctx.Write(func(r *callstate.Record) { r.Sources = untrusted })
			}
			_, err := c.CallTool(ctx, call)
			if e.want(t, 0); r.asked.Load() != 2 || err == nil {
				t.Errorf("%s: asked %d times, got %v; want a question of its own", name, r.asked.Load(), err)
			}
			time.Sleep(time.Hour)
		})
	}
}

// An open question is not for a call that is asked about for other reasons.
func TestOpenQuestionIsForItsReasons(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, r := new(executor), &reader{answers: make(chan hitl.Decision)}
		c := hitl.New(r, hitl.Options{Timeout: time.Minute, WaitLimit: func(context.Context) (time.Duration, string) { return time.Second, "on a page" }})(guarded(e))
		wantWaiting(t, c, deletes(t))
		ctx := callstate.Begin(t.Context())
		callstate.Of(ctx).Write(func(r *callstate.Record) {
			r.Sources = []middleware.Source{{Argument: "path", From: "result", Tool: "web/get", Rule: "a rule"}}
		})
		if _, err := c.CallTool(ctx, deletes(t)); r.asked.Load() != 2 || err == nil {
			t.Errorf("asked %d times, %v; want a question of its own", r.asked.Load(), err)
		}
		time.Sleep(time.Hour)
		e.want(t, 0)
	})
}

// A question that was left open ends by itself, and gives its place back; a decision that
// no call has taken is worth nothing then.
func TestQuestionThatIsLeftOpenEnds(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e, r := new(executor), &reader{answers: make(chan hitl.Decision)}
			store := &ways{Store: approvals.NewMemory(), of: make(map[string]string)}
			c := impatient(r, e, store)
			wantWaiting(t, c, deletes(t))
			other := deletes(t)
			other.Arguments = []byte(`{"path":"other"}`)
			_, err := c.CallTool(t.Context(), other)
			wantDenied(t, nil, err) // the one place is taken
			if answered {
				r.answers <- hitl.Decision{Verdict: hitl.Approved}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			wantWaiting(t, c, other)
			wantWaiting(t, c, other)
			time.Sleep(time.Minute)
			synctest.Wait()
			wantWaiting(t, c, deletes(t))
			_, err = c.CallTool(t.Context(), other)
			wantDenied(t, nil, err) // each question has given its place back once
			if e.want(t, 0); r.asked.Load() != 3 {
				t.Errorf("asked %d times, want three times", r.asked.Load())
			}
			time.Sleep(time.Hour)
			want := map[string]int{"pending denied": 3}
			if answered {
				want = map[string]int{"pending denied": 2, "pending approved": 1} // nothing was spent
			}
			if got := store.count(); !maps.Equal(got, want) {
				t.Errorf("the questions went %v", got)
			}
		})
	}
}

// A call that is given up before its patience is over leaves no question.
func TestCallThatIsGivenUpLeavesNoQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, r := new(executor), &reader{answers: make(chan hitl.Decision)}
		c := impatient(r, e, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := c.CallTool(ctx, deletes(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		select {
		case r.answers <- hitl.Decision{Verdict: hitl.Approved}:
			t.Error("the question is open")
		default:
		}
		wantWaiting(t, c, deletes(t))
		if e.want(t, 0); r.asked.Load() != 2 {
			t.Errorf("asked %d times, want twice", r.asked.Load())
		}
		time.Sleep(time.Hour)
	})
}

// Identical calls that wait end together, and one of their repeats takes the decision.
func TestIdenticalCallsWaitTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, r := new(executor), &reader{answers: make(chan hitl.Decision)}
		var reports atomic.Int32
		c := hitl.New(r, hitl.Options{
			Timeout: time.Minute, WaitLimit: func(context.Context) (time.Duration, string) { return 11 * time.Second, "on a page" },
			OnWaiting: func(_ context.Context, waited time.Duration) {
				if reports.Add(1); waited%(5*time.Second) != 0 {
					t.Errorf("reported after %v", waited)
				}
			},
		})(guarded(e))
		wantWaiting(t, c, deletes(t))
		if got := reports.Load(); got != 2 {
			t.Errorf("reported %d times, want twice", got)
		}
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := c.CallTool(t.Context(), deletes(t))
				done <- err
			}()
		}
		synctest.Wait()
		r.answers <- hitl.Decision{Verdict: hitl.Approved}
		first := <-done
		second := <-done
		if e.want(t, 1); (first == nil) == (second == nil) {
			t.Errorf("got %v and %v", first, second)
		}
		time.Sleep(time.Hour)
	})
}

// An answer goes to the call that has taken the question up, also if the question was open without a call before.
func TestAnswerReachesTheCallThatReturns(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			e, r := new(executor), &reader{answers: make(chan hitl.Decision)}
			c := impatient(r, e, nil)
			wantWaiting(t, c, deletes(t))
			done := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), deletes(t))
				done <- err
			}()
			synctest.Wait()
			r.answers <- hitl.Decision{Verdict: hitl.Approved}
			if err := <-done; err != nil {
				t.Error(err)
			}
			e.want(t, 1)
			time.Sleep(time.Hour)
		})
	}
}

// After the answer nothing is reported as waiting for a person, however long the store takes.
func TestAnsweredCallIsNotReportedAsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, r := new(executor), &reader{answers: make(chan hitl.Decision)}
		var reports atomic.Int32
		c := hitl.New(r, hitl.Options{
			Timeout: time.Minute, Store: slowStore{approvals.NewMemory()},
			OnWaiting: func(context.Context, time.Duration) { reports.Add(1) },
		})(guarded(e))
		done := make(chan error)
		go func() {
			_, err := c.CallTool(t.Context(), deletes(t))
			done <- err
		}()
		time.Sleep(9 * time.Second)
		r.answers <- hitl.Decision{Verdict: hitl.Approved}
		began := time.Now()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Second || reports.Load() != 1 {
			t.Errorf("it took %v after the answer, and %d reports, want 1", took, reports.Load())
		}
	})
}

type slowStore struct{ approvals.Store }

func (s slowStore) Advance(ctx context.Context, id string, c approvals.Change) error {
	time.Sleep(1500 * time.Millisecond)
	return s.Store.Advance(ctx, id, c)
}
