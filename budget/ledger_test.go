package budget_test

import (
	"errors"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestSessionIsAScopeUntilItIsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := budget.New(budget.Options{Session: budget.Limit{Calls: 1}, Idle: time.Minute})(&server{answer: differing})
		call := func(scope string) error {
			_, err := caller.CallTool(t.Context(), middleware.Call{Scope: scope, Tool: testtool.New("files", "look", annotation.ReadOnly())})
			return err
		}
		if err := errors.Join(call("ann"), call("bob")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		after, _ := middleware.RetryAfter(call("ann"))
		if after != 20*time.Second {
			t.Errorf("it may go on in %v, want 20s", after)
		}
		time.Sleep(after - 1) // being stopped does not put it off
		stopped(t, call("ann"), budget.Calls)
		time.Sleep(1)
		if err := call("ann"); err != nil {
			t.Errorf("after that time: %v", err)
		}
		stopped(t, call("ann"), budget.Calls)
	})
}

// A session with a call in flight is not idle.
func TestLongCallKeepsItsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := budget.New(budget.Options{Session: budget.Limit{Calls: 1}, Idle: time.Minute})(&server{answer: func(middleware.Call, int64) (*mcp.CallToolResult, error) {
			time.Sleep(time.Hour)
			return textResult("x"), nil
		}})
		look := testtool.New("files", "look", annotation.ReadOnly())
		go func() { _, _ = caller.CallTool(t.Context(), middleware.Call{Tool: look}) }()
		time.Sleep(30 * time.Minute)
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: look})
		stopped(t, err, budget.Calls)
		time.Sleep(time.Hour)
	})
}

func TestNoScopeIsRefusedBecauseOfOthers(t *testing.T) {
	t.Parallel()
	caller := budget.New(budget.Options{Session: budget.Limit{Calls: 2}})(&server{answer: differing})
	look := testtool.New("files", "look", annotation.ReadOnly())
	for range 2 {
		for i := range 50_000 {
			if _, err := caller.CallTool(t.Context(), middleware.Call{Scope: strconv.Itoa(i), Tool: look}); err != nil {
				t.Fatalf("scope %d: %v", i, err)
			}
		}
	}
	_, err := caller.CallTool(t.Context(), middleware.Call{Scope: "0", Tool: look})
	stopped(t, err, budget.Calls)
}

// The least recently used session is removed; until then a flood of others ends no session's
// limit.
func TestOnlyTheLeastRecentlyUsedSessionBeginsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := budget.New(budget.Options{Ledger: budget.NewLedger(3), Session: budget.Limit{Calls: 2}, Idle: time.Minute})(&server{answer: differing})
		call := func(scope string) error {
			_, err := caller.CallTool(t.Context(), middleware.Call{Scope: scope, Tool: testtool.New("files", "look", annotation.ReadOnly())})
			return err
		}
		if err := errors.Join(call("ann"), call("ann"), call("bob"), call("cid")); err != nil {
			t.Fatal(err)
		}
		stopped(t, call("ann"), budget.Calls) // which is a use
		if err := errors.Join(call("dan"), call("bob"), call("bob")); err != nil {
			t.Errorf("bob's session was the oldest and did not begin anew: %v", err)
		}
		stopped(t, call("ann"), budget.Calls)
		stopped(t, call("bob"), budget.Calls)
		time.Sleep(time.Minute)
		if err := errors.Join(call("eve"), call("ann"), call("ann")); err != nil {
			t.Errorf("a session that was over did not begin anew: %v", err)
		}
	})
}

// A chain without a limit shares its ledger with one that has: what cannot be
// counted there does not end the limit here.
func TestUncountableCallsDoNotEndALimit(t *testing.T) {
	t.Parallel()
	for name, cost := range map[string]float64{"no number": math.NaN(), "below zero": -1, "infinite": math.Inf(1), "the largest": math.MaxFloat64} {
		ledger := budget.NewLedger(0)
		failing := &server{answer: func(middleware.Call, int64) (*mcp.CallToolResult, error) {
			return nil, &middleware.NotSentError{Err: errors.New("gone")}
		}}
		free := budget.New(budget.Options{Ledger: ledger})(failing)
		limited := budget.New(budget.Options{Ledger: ledger, Session: budget.Limit{Cost: 10}})(&server{answer: differing})
		spend := func() (err error) {
			_, err = limited.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "ask", costing(4))})
			return err
		}
		if err := spend(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, _ = free.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "odd", costing(cost))})
		}
		passed := 1
		for range 5 {
			if spend() == nil {
				passed++
			}
		}
		if passed > 2 {
			t.Errorf("%s: %d calls of 4 in a budget of 10; spent %+v", name, passed, ledger.Spent(""))
		}
	}
}
