package hitl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A relay asks through whoever calls: the first leg ends with a question, and the
// second one says what was answered.
type relay struct {
	mu   sync.Mutex
	seen []string // the IDs, a second leg's with a mark
}

func (r *relay) Confirm(_ context.Context, request hitl.Request) (hitl.Decision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.Input == nil {
		r.seen = append(r.seen, request.ID)
		return hitl.Decision{}, &hitl.PendingError{State: "sealed", Requests: mcp.InputRequestMap{"ok": &mcp.ElicitParams{Message: "OK?"}}}
	}
	r.seen = append(r.seen, request.ID+" again")
	answer, ok := request.Input.Responses["ok"].(*mcp.ElicitResult)
	if !ok || request.Input.State != "sealed" {
		return hitl.Decision{}, errors.New("no answer")
	}
	if answer.Action == "later" {
		return hitl.Decision{}, &hitl.PendingError{State: "sealed", Requests: mcp.InputRequestMap{"ok": &mcp.ElicitParams{Message: "Now?"}}}
	}
	if answer.Action != "accept" {
		return hitl.Decision{By: "Ann"}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "Ann"}, nil
}

// again is the second leg of a call that ended in err.
func again(t *testing.T, call middleware.Call, err error, action string) middleware.Call {
	t.Helper()
	requests, state, ok := fault.InputRequired(err)
	if !ok || len(requests) != 1 || !middleware.NotSent(err) || !middleware.Permanent(err) || errors.Is(err, hitl.ErrDenied) {
		t.Fatalf("got %v, want a question and not a denial", err)
	}
	call.Input = &middleware.Input{State: state, Responses: mcp.InputResponseMap{"ok": &mcp.ElicitResult{Action: action}}}
	return call
}

func TestTwoLegs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		action string
		runs   int
	}{{"accept", 1}, {"decline", 0}} {
		e, r := new(executor), new(relay)
		c := hitl.New(r, hitl.Options{})(guarded(e))
		noted := callstate.Begin(t.Context())
		ctx := context.Context(noted)
		_, err := c.CallTool(ctx, deletes(t))
		e.want(t, 0)
		if facts := noted.Record().Decisions; len(facts) != 1 || facts[0].What != "pending" {
			t.Errorf("noted %v", facts)
		}
		call := again(t, deletes(t), err, tt.action)
		_, err = c.CallTool(t.Context(), call)
		e.want(t, tt.runs)
		if tt.runs == 0 {
			if denied := wantDenied(t, nil, err); denied.By != "Ann" {
				t.Errorf("got %+v", denied)
			}
		} else if err != nil || e.calls[0].Input != nil {
			t.Errorf("got %v, and the tool got %+v", err, e.calls[0].Input)
		}
		if len(r.seen) != 2 || r.seen[1] != r.seen[0]+" again" {
			t.Errorf("asked as %v, want one ID", r.seen)
		}
		_, err = c.CallTool(t.Context(), call)
		wantDenied(t, nil, err)
		e.want(t, tt.runs)
	}
}

// A question may end with another one, under the same ID.
func TestLegMayEndWithAnotherQuestion(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := hitl.New(new(relay), hitl.Options{MaxPending: 1})(guarded(e))
	_, err := c.CallTool(t.Context(), deletes(t))
	for range 3 {
		_, err = c.CallTool(t.Context(), again(t, deletes(t), err, "later"))
	}
	e.want(t, 0)
	if _, err = c.CallTool(t.Context(), again(t, deletes(t), err, "accept")); err != nil {
		t.Error(err)
	}
	e.want(t, 1)
}

// What the first leg brought for the tool itself reaches it with the second.
func TestToolsOwnInputComesBack(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := hitl.New(new(relay), hitl.Options{})(guarded(e))
	call := deletes(t)
	call.Input = &middleware.Input{State: "the tool's", Responses: mcp.InputResponseMap{"which": &mcp.ElicitResult{Action: "accept"}}}
	_, err := c.CallTool(t.Context(), call)
	if _, err = c.CallTool(t.Context(), again(t, call, err, "accept")); err != nil {
		t.Fatal(err)
	}
	if got := e.calls[0].Input; got == nil || got.State != "the tool's" || len(got.Responses) != 1 {
		t.Errorf("the tool got %+v", got)
	}
}

// A forged answer is refused, even if it looks like one of ours.
func TestMadeUpAnswer(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := hitl.New(new(relay), hitl.Options{})(guarded(e))
	_, err := c.CallTool(t.Context(), deletes(t))
	genuine := again(t, deletes(t), err, "accept").Input
	for _, state := range []string{
		"fairlead.hitl.", "fairlead.hitl..", "fairlead.hitl..sealed", "fairlead.hitl.ID.sealed",
		genuine.State + "x", strings.TrimSuffix(genuine.State, ".sealed"),
	} {
		call := deletes(t)
		call.Input = &middleware.Input{State: state, Responses: genuine.Responses}
		_, err := c.CallTool(t.Context(), call)
		wantDenied(t, nil, err)
	}
	e.want(t, 0)
}

// Open questions have the places of those who wait, and give them back with the
// answer or when their time is over, and the store is told.
func TestOpenQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, store := new(executor), &ways{Store: approvals.NewMemory(), of: make(map[string]string)}
		c := hitl.New(new(relay), hitl.Options{MaxPending: 3, MaxPendingPerScope: 2, Timeout: time.Minute, Store: store})(guarded(e))
		ask := func(i int, scope string) (middleware.Call, error) {
			call := numbered(t, i)
			call.Scope = scope
			_, err := c.CallTool(t.Context(), call)
			return call, err
		}
		call, open := ask(0, "ann")
		_, _ = ask(1, "ann")
		if _, err := ask(2, "ann"); !errors.Is(err, hitl.ErrDenied) {
			t.Errorf("a third question of one scope: %v", err)
		}
		_, _ = ask(3, "bob")
		if _, err := ask(4, "cay"); !errors.Is(err, hitl.ErrDenied) {
			t.Errorf("a fourth question: %v", err)
		}
		if _, err := c.CallTool(t.Context(), again(t, call, open, "accept")); err != nil {
			t.Error(err)
		}
		e.want(t, 1)
		if _, err := ask(5, "cay"); !isQuestion(err) {
			t.Errorf("after an answer: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for i := range 3 {
			if _, err := ask(6+i, fmt.Sprint(i)); !isQuestion(err) {
				t.Errorf("when the time of the others is over: %v", err)
			}
		}
		if got := store.count(); got["pending denied"] != 3 || got["pending approved spent done"] != 1 || got["pending"] != 3 {
			t.Errorf("the store was told %v", got)
		}
	})
}

// Nor are they more where many come at once.
func TestOpenQuestionsAreBoundedAtOnce(t *testing.T) {
	t.Parallel()
	c := hitl.New(new(relay), hitl.Options{MaxPending: 3})(guarded(new(executor)))
	var all sync.WaitGroup
	open := make(chan bool, 300)
	for i := range 300 {
		call := numbered(t, i)
		all.Go(func() {
			_, err := c.CallTool(t.Context(), call)
			open <- isQuestion(err)
		})
	}
	all.Wait()
	close(open)
	n := 0
	for is := range open {
		if is {
			n++
		}
	}
	if n > 3 {
		t.Errorf("%d questions are open, want 3 at most", n)
	}
}

func isQuestion(err error) bool {
	_, _, ok := fault.InputRequired(err)
	return ok
}

// ways is a store that writes down how each question went.
type ways struct {
	hitl.Store

	mu sync.Mutex
	of map[string]string
}

func (w *ways) Add(ctx context.Context, a approvals.Approval) error {
	return w.note(a.ID, a.State, w.Store.Add(ctx, a))
}

func (w *ways) Advance(ctx context.Context, id string, c approvals.Change) error {
	return w.note(id, c.To, w.Store.Advance(ctx, id, c))
}

func (w *ways) note(id string, s approvals.State, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.of[id] = strings.TrimSpace(w.of[id] + " " + string(s))
	}
	return err
}

func (w *ways) count() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := make(map[string]int)
	for _, way := range w.of {
		counts[way]++
	}
	return counts
}

// An answer that comes when the question is over is a no, even where the confirmer
// takes it.
func TestLateSecondLeg(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := new(executor)
		c := hitl.New(new(relay), hitl.Options{Timeout: time.Minute})(guarded(e))
		_, err := c.CallTool(t.Context(), deletes(t))
		time.Sleep(time.Minute)
		res, err := c.CallTool(t.Context(), again(t, deletes(t), err, "accept"))
		wantDenied(t, res, err)
		e.want(t, 0)
	})
}

// Identical calls that come at once are questions of their own: one answer is one
// execution.
func TestIdenticalCallsAreTwoQuestions(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := hitl.New(new(relay), hitl.Options{})(guarded(e))
	var all sync.WaitGroup
	states := make(chan string, 10)
	for range 10 {
		all.Go(func() {
			_, err := c.CallTool(t.Context(), deletes(t))
			_, state, _ := fault.InputRequired(err)
			states <- state
		})
	}
	all.Wait()
	close(states)
	differ := make(map[string]bool)
	for state := range states {
		differ[state] = true
	}
	if len(differ) != 10 || differ[""] {
		t.Errorf("%d questions, want 10", len(differ))
	}
	e.want(t, 0)
}

// A caller that has gone leaves no question open.
func TestCallerThatHasGoneIsNotAsked(t *testing.T) {
	t.Parallel()
	e, store := new(executor), &ways{Store: approvals.NewMemory(), of: make(map[string]string)}
	ctx, cancel := context.WithCancel(t.Context())
	r := new(relay)
	c := hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
		cancel()
		return r.Confirm(ctx, request)
	}), hitl.Options{Store: store})(guarded(e))
	if _, err := c.CallTool(ctx, deletes(t)); !errors.Is(err, context.Canceled) || isQuestion(err) {
		t.Errorf("got %v", err)
	}
	if got := store.count(); got["pending void"] != 1 {
		t.Errorf("the store was told %v", got)
	}
}

// An answer that comes a second time, while the call that the first one allowed is on its
// way, is a no and takes nothing back.
func TestSecondAnswerTakesNothingBack(t *testing.T) {
	t.Parallel()
	e := new(executor)
	var c middleware.ToolCaller
	var second middleware.Call
	c = between(new(relay), func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
		_, err := c.CallTool(t.Context(), second)
		wantDenied(t, nil, err)
		return next.CallTool(ctx, call)
	}, e, hitl.Options{})
	_, err := c.CallTool(t.Context(), deletes(t))
	second = again(t, deletes(t), err, "accept")
	if _, err := c.CallTool(t.Context(), second); err != nil {
		t.Error(err)
	}
	e.want(t, 1)
}
