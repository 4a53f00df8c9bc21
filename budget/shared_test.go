package budget_test

import (
	"errors"
	"math"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// Each chain that shares a ledger has its own patience, whichever called first.
func TestLoopsAreSeenInASharedLedger(t *testing.T) {
	t.Parallel()
	ledger := budget.NewLedger(0)
	short := budget.New(budget.Options{Ledger: ledger, Repeats: 1})(new(server))
	long := budget.New(budget.Options{Ledger: ledger, Repeats: 20})(new(server))
	again := middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())}
	for _, call := range []middleware.Call{{Tool: testtool.New("files", "another", annotation.ReadOnly())}, again} {
		if _, err := short.CallTool(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 19 {
		if _, err := long.CallTool(t.Context(), again); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	_, err := long.CallTool(t.Context(), again)
	if e := stopped(t, err, budget.Loop); e.Times != 20 || !e.SameAnswer {
		t.Errorf("got %+v", e)
	}
}
