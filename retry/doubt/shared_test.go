package doubt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errAway = errors.New("the store is away")

// cut is a store that a replica reaches for so many operations more.
type cut struct {
	doubt.Store

	left int
}

func (c *cut) gone() bool { c.left--; return c.left < 0 }

func (c *cut) Put(ctx context.Context, e doubt.Entry) error {
	if c.gone() {
		return errAway
	}
	return c.Store.Put(ctx, e)
}

func (c *cut) Find(ctx context.Context, scope, server, tool string) ([]doubt.Entry, error) {
	if c.gone() {
		return nil, errAway
	}
	return c.Store.Find(ctx, scope, server, tool)
}

func (c *cut) Tell(ctx context.Context, e doubt.Entry) (bool, error) {
	if c.gone() {
		return false, errAway
	}
	return c.Store.Tell(ctx, e)
}

func (c *cut) Remove(ctx context.Context, e doubt.Entry) (bool, error) {
	if c.gone() {
		return false, errAway
	}
	return c.Store.Remove(ctx, e)
}

// site is a server with two replicas of a host in front.
type site struct {
	executed []string
	lose     bool           // the next answer
	during   func()         // called while the server works
	asked    []hitl.Request // by either replica
	answer   hitl.Decision  // of the person
	replicas [2]*doubt.Ledger
	callers  [2]middleware.ToolCaller
}

func newSite(o doubt.Options, stores [2]doubt.Store) *site {
	s := &site{answer: hitl.Decision{Verdict: hitl.Approved, By: "ann"}}
	person := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		s.asked = append(s.asked, r)
		return s.answer, nil
	})
	server := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		s.executed = append(s.executed, call.Tool.Name()+string(call.Arguments))
		if during := s.during; during != nil {
			s.during = nil
			during()
		}
		if s.lose {
			s.lose = false
			return nil, errLost
		}
		return &mcp.CallToolResult{}, nil
	})
	for i, store := range stores {
		its := o
		s.replicas[i] = doubt.NewLedger(doubt.LedgerOptions{Store: store})
		its.Ledger = s.replicas[i]
		s.callers[i] = chain.Standard{
			Doubt: doubt.New(its), Confirm: hitl.New(person, hitl.Options{}), PerCall: []middleware.Middleware{doubt.Intent(its)},
		}.Then(guard.New(server, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
			return tool(call.Tool.Name()), nil
		}))
	}
	return s
}

func (s *site) call(ctx context.Context, replica int, name, arguments string) error {
	_, err := s.callers[replica].CallTool(ctx, middleware.Call{Tool: tool(name), Scope: "ann", Arguments: json.RawMessage(arguments)})
	return err
}

func twice(store doubt.Store) [2]doubt.Store { return [2]doubt.Store{store, store} }

// A call whose answer one replica has lost is held at the other, once, and then asked about with its time.
func TestDoubtIsTheFleets(t *testing.T) {
	for _, name := range []string{"create_order", "send_payment"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(doubt.Options{}, twice(doubt.NewMemory()))
			s.lose = true
			if err := s.call(t.Context(), 0, name, `{"amount":5}`); !unknown(err) {
				t.Fatal(err)
			}
			began := len(s.asked)
			time.Sleep(time.Second)
			if err := s.call(t.Context(), 1, name, `{"amount":5}`); !errors.Is(err, doubt.ErrHeld) {
				t.Errorf("%s at the other replica: %v", name, err)
			}
			if err := s.call(t.Context(), 1, name, `{"amount":6}`); err != nil {
				t.Errorf("%s with other arguments: %v", name, err)
			}
			if err := s.call(t.Context(), 0, name, `{"amount":5}`); err != nil { // held once in the fleet
				t.Errorf("%s again: %v", name, err)
			}
			last := s.asked[len(s.asked)-1]
			if len(s.executed) != 3 || len(s.asked) == began || last.InDoubt.IsZero() {
				t.Errorf("%s: executed %q, asked %d times, the last in doubt since %v", name, s.executed, len(s.asked), last.InDoubt)
			}
			// The person has settled it.
			asked := len(s.asked)
			if err := s.call(t.Context(), 1, name, `{"amount":5}`); err != nil || len(s.asked) > asked && !s.asked[asked].InDoubt.IsZero() {
				t.Errorf("%s after it was settled: %v", name, err)
			}
		})
	}
}

// A replica is lost, or cut off from the store, after any number of its operations: the other one does not repeat what
// may have happened without a person who saw it.
func TestLostReplicaLeavesItsCallsInDoubt(t *testing.T) {
	for operations := range 6 {
		for _, end := range []string{"answered", "lost", "killed"} {
			t.Run(fmt.Sprint(operations, " operations, ", end), func(t *testing.T) {
				memory := doubt.NewMemory()
				s := newSite(doubt.Options{}, [2]doubt.Store{&cut{memory, operations}, memory})
				s.lose = end == "lost"
				again := func() {
					if err := s.call(t.Context(), 1, "create_order", `{"n":1}`); !errors.Is(err, doubt.ErrHeld) {
						t.Errorf("not held while it is executed elsewhere: %v", err)
					}
				}
				if end == "killed" {
					s.during = again
				}
				err := s.call(t.Context(), 0, "create_order", `{"n":1}`)
				sent := len(s.executed) > 0
				if sent != (operations >= 2) { // it looked for a doubt, and entered the call
					t.Errorf("executed %d times after %d operations", len(s.executed), operations)
				}
				switch {
				case !sent && (!middleware.NotSent(err) || !strings.Contains(middleware.ForModel(err), "was not called")):
					t.Errorf("not sent, and the error is %v", err)
				case !sent, end != "lost":
					return
				}
				if err := s.call(t.Context(), 1, "create_order", `{"n":1}`); !errors.Is(err, doubt.ErrHeld) || len(s.executed) != 1 {
					t.Errorf("executed %d times: %v", len(s.executed), err)
				}
			})
		}
	}
}

// While the store does not answer, reads and writes that are harmless to repeat go on, and no other write does.
func TestWritesWaitForTheStore(t *testing.T) {
	s := newSite(doubt.Options{}, twice(&cut{doubt.NewMemory(), 0}))
	away, is := errors.AsType[*doubt.UnavailableError](s.call(t.Context(), 0, "create_order", `{}`))
	if !is || !errors.Is(away, errAway) || !away.NotSent() || len(s.executed)+len(s.asked) != 0 {
		t.Errorf("a write: executed %q: %v", s.executed, away)
	}
	for _, name := range []string{"list_orders", "set_name"} {
		if err := s.call(t.Context(), 0, name, `{}`); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What was left in the store during an outage is removed when it answers again.
func TestKnownOutcomesAreRemovedLater(t *testing.T) {
	memory := doubt.NewMemory()
	first := &cut{memory, 2} // what it looks for, and what it enters
	s := newSite(doubt.Options{}, [2]doubt.Store{first, memory})
	if err := s.call(t.Context(), 0, "create_order", `{"n":1}`); err != nil {
		t.Fatal(err)
	}
	if left, _ := memory.Find(t.Context(), "ann", "shop", "create_order"); len(left) != 1 {
		t.Fatalf("%d entries, want the one that could not be removed", len(left))
	}
	first.left = 100
	if err := s.call(t.Context(), 0, "create_order", `{"n":2}`); err != nil {
		t.Fatal(err)
	}
	if left, _ := memory.Find(t.Context(), "ann", "shop", "create_order"); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// A read at another replica, the host and a task's end settle what one replica has in doubt.
func TestSettledInTheFleet(t *testing.T) {
	reads := map[string]string{"shop/create_order": "shop/list_orders"}
	for name, row := range map[string]struct {
		o      doubt.Options
		settle func(s *site)
		held   bool
	}{
		"a read":                          {doubt.Options{Reads: reads}, func(s *site) { _ = s.call(context.Background(), 1, "list_orders", `{}`) }, false},
		"a read that shows nothing of it": {doubt.Options{}, func(s *site) { _ = s.call(context.Background(), 1, "list_orders", `{}`) }, true},
		"the host": {doubt.Options{Reconcile: func(context.Context, doubt.Call, middleware.Call) (doubt.Outcome, error) {
			return doubt.NotHappened, nil
		}}, func(*site) {}, false},
		"the end of its task": {doubt.Options{}, func(s *site) {
			s.replicas[1].Settle(context.Background(), middleware.Call{Scope: "ann", Tool: tool("create_order")}, "its task")
		}, false},
		"the end of another's": {doubt.Options{}, func(s *site) {
			s.replicas[1].Settle(context.Background(), middleware.Call{ID: "9", Scope: "ann", Tool: tool("create_order")}, "its task")
		}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(row.o, twice(doubt.NewMemory()))
			s.lose = true
			if err := s.call(t.Context(), 0, "create_order", `{}`); !unknown(err) {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			row.settle(s)
			if err := s.call(t.Context(), 1, "create_order", `{}`); errors.Is(err, doubt.ErrHeld) != row.held {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// The arguments as they were and as a person edited them are held at the other replica, even if the first is lost.
func TestEditedCallIsInDoubtInTheFleet(t *testing.T) {
	s := newSite(doubt.Options{}, twice(doubt.NewMemory()))
	s.answer.Arguments = json.RawMessage(`{"amount":1}`)
	s.during = func() {
		s.answer.Arguments = nil
		for _, arguments := range []string{`{"amount":1}`, `{"amount":5}`} {
			if err := s.call(t.Context(), 1, "send_payment", arguments); !errors.Is(err, doubt.ErrHeld) {
				t.Errorf("%s: %v", arguments, err)
			}
		}
	}
	if err := s.call(t.Context(), 0, "send_payment", `{"amount":5}`); err != nil || len(s.executed) != 1 {
		t.Errorf("executed %q: %v", s.executed, err)
	}
}
