package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func costing(cost float64) annotation.Annotations {
	a := annotation.ReadOnly()
	a.CostHint = &cost
	return a
}

func textResult(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// A server answers as set, and counts.
type server struct {
	calls  atomic.Int64
	answer func(call middleware.Call, n int64) (*mcp.CallToolResult, error)
}

func (s *server) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	n := s.calls.Add(1)
	if s.answer == nil {
		return textResult("the same"), nil
	}
	return s.answer(call, n)
}

func differing(_ middleware.Call, n int64) (*mcp.CallToolResult, error) {
	return textResult(fmt.Sprint("answer ", n)), nil
}

func stopped(t *testing.T, err error, want budget.Reason) *budget.StoppedError {
	t.Helper()
	e, ok := errors.AsType[*budget.StoppedError](err)
	if !ok || e.Reason != want || !errors.Is(err, budget.ErrStopped) || !middleware.NotSent(err) {
		t.Fatalf("got %v, want it stopped by %s", err, want)
	}
	return e
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]budget.Options{
		"zero":   {},
		"limits": {Session: budget.Limit{Calls: 1e6, Cost: 1e6, Time: 1e6 * time.Hour}},
		"tight":  {Session: budget.Limit{Calls: 1}},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); middlewaretest.Run(t, budget.New(o)) })
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	read, write, dear := testtool.New("files", "look", annotation.ReadOnly()), testtool.New("files", "add", annotation.Write()), testtool.New("files", "ask", costing(4))
	for _, tt := range []struct {
		name   string
		o      budget.Options
		tools  []*middleware.Tool
		stops  int // the first that is stopped, -1 for none
		reason budget.Reason
		words  string
	}{
		{"no limits", budget.Options{}, []*middleware.Tool{read, write, dear, read, write, dear, read}, -1, "", ""},
		{"calls", budget.Options{Session: budget.Limit{Calls: 2}}, []*middleware.Tool{read, write, read}, 2, budget.Calls, "this session has used up the 2 calls that it may make"},
		{"cost", budget.Options{Session: budget.Limit{Cost: 10}}, []*middleware.Tool{dear, read, dear, read, dear}, 4, budget.Cost, "8 of the cost of 10"},
		{"exactly all of it", budget.Options{Session: budget.Limit{Cost: 8, Calls: 2}}, []*middleware.Tool{dear, dear}, -1, "", ""},
		{"time", budget.Options{Session: budget.Limit{Time: 2 * time.Second}}, []*middleware.Tool{read, write, read}, 2, budget.Time, "the 2s that its calls may take"},
		{"more than there is", budget.Options{Session: budget.Limit{Cost: 3}}, []*middleware.Tool{read, dear}, 1, budget.Cost, "costs more than all that this session may spend (3)"},
		{"no number", budget.Options{Session: budget.Limit{Cost: 3}}, []*middleware.Tool{testtool.New("files", "ask", costing(math.NaN()))}, 0, budget.Cost, ""},
		{"endless", budget.Options{Session: budget.Limit{Cost: 3}}, []*middleware.Tool{testtool.New("files", "ask", costing(math.Inf(1)))}, 0, budget.Cost, ""},
		{"less than nothing", budget.Options{Session: budget.Limit{Cost: 3}}, []*middleware.Tool{testtool.New("files", "ask", costing(-5))}, 0, budget.Cost, ""},
		{"no number, no limit", budget.Options{}, []*middleware.Tool{testtool.New("files", "ask", costing(math.NaN()))}, -1, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{answer: func(call middleware.Call, n int64) (*mcp.CallToolResult, error) {
					time.Sleep(time.Second)
					return differing(call, n)
				}}
				caller := budget.New(tt.o)(s)
				for i, made := range tt.tools {
					_, err := caller.CallTool(t.Context(), middleware.Call{Tool: made})
					if i != tt.stops {
						if err != nil {
							t.Fatalf("call %d: %v", i, err)
						}
						continue
					}
					e := stopped(t, err, tt.reason)
					if !strings.Contains(err.Error(), tt.words) || !strings.HasPrefix(err.Error(), "budget: "+made.String()) {
						t.Errorf("%+v: %v", e, err)
					}
					if after, later := middleware.RetryAfter(err); later == middleware.Permanent(err) || later && after != time.Hour {
						t.Errorf("it may go on in %v, %t; for good: %t", after, later, middleware.Permanent(err))
					}
				}
				if want := int64(len(tt.tools)); tt.stops < 0 && s.calls.Load() != want || tt.stops >= 0 && s.calls.Load() != want-1 {
					t.Errorf("%d calls arrived", s.calls.Load())
				}
			})
		})
	}
}

type fact struct{ notSent, refused bool }

func (fact) Error() string   { return "no" }
func (f fact) NotSent() bool { return f.notSent }
func (f fact) Refused() bool { return f.refused }

func TestCallsNotCarriedOutAreRefunded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   error
		spent int
	}{
		{"not sent", fact{notSent: true}, 0},
		{"refused by the server", fact{refused: true}, 0},
		{"failed", errors.New("broken pipe"), 1},
		{"a result", nil, 1},
	} {
		ledger := budget.NewLedger(0)
		caller := budget.New(budget.Options{Ledger: ledger, Session: budget.Limit{Calls: 1, Cost: 4}})(
			&server{answer: func(middleware.Call, int64) (*mcp.CallToolResult, error) {
				if tt.err != nil {
					return nil, tt.err
				}
				return textResult("x"), nil
			}})
		ask := testtool.New("files", "ask", costing(4))
		_, _ = caller.CallTool(t.Context(), middleware.Call{Scope: "ann", Tool: ask})
		if got := ledger.Spent("ann"); got.Calls != tt.spent || got.Cost != float64(4*tt.spent) {
			t.Errorf("%s: spent %+v", tt.name, got)
		}
		_, err := caller.CallTool(t.Context(), middleware.Call{Scope: "ann", Tool: ask})
		if again := !errors.Is(err, budget.ErrStopped); again != (tt.spent == 0) {
			t.Errorf("%s: the next one: %v", tt.name, err)
		}
		ledger.Forget("ann")
		if _, err := caller.CallTool(t.Context(), middleware.Call{Scope: "ann", Tool: ask}); errors.Is(err, budget.ErrStopped) {
			t.Errorf("%s: after Forget: %v", tt.name, err)
		}
		if got := ledger.Spent("bob"); got != (budget.Spent{}) {
			t.Errorf("%s: another has spent %+v", tt.name, got)
		}
	}
}

// However many come at once, no more than the limit get through.
func TestCallsInFlightAreReserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(call middleware.Call, n int64) (*mcp.CallToolResult, error) {
			time.Sleep(time.Second)
			return differing(call, n)
		}}
		caller := budget.New(budget.Options{Session: budget.Limit{Calls: 100, Cost: 40}})(s)
		ask := testtool.New("files", "ask", costing(4))
		var all sync.WaitGroup
		began := time.Now()
		for i := range 200 {
			all.Go(func() {
				_, _ = caller.CallTool(t.Context(), middleware.Call{Tool: ask, Arguments: fmt.Appendf(nil, `{"n":%d}`, i)})
			})
		}
		all.Wait()
		if got := s.calls.Load(); got != 10 || time.Since(began) != time.Second {
			t.Errorf("%d got through in %v, want 10 in 1s", got, time.Since(began))
		}
	})
}

func TestPanicIsSettled(t *testing.T) {
	t.Parallel()
	ledger := budget.NewLedger(0)
	caller := fault.Recover(budget.New(budget.Options{Ledger: ledger, Idle: 1})(&server{answer: func(middleware.Call, int64) (*mcp.CallToolResult, error) { panic("boo") }}))
	for range 3 {
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())})
		if _, ok := errors.AsType[*middleware.PanicError](err); !ok {
			t.Fatal(err)
		}
		time.Sleep(2)
	}
	if got := ledger.Spent("").Calls; got != 1 { // the session was idle each time
		t.Errorf("%d calls are still reserved", got)
	}
}

// The time that a person takes to think does not count.
func TestTimeOfPeopleIsNotSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := budget.NewLedger(0)
		slow := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			time.Sleep(20 * time.Second)
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})
		caller := chain.Standard{
			Budget:  budget.New(budget.Options{Ledger: ledger, Session: budget.Limit{Time: 10 * time.Second}}),
			Confirm: hitl.New(slow, hitl.Options{}),
		}.Then(&server{answer: func(call middleware.Call, n int64) (*mcp.CallToolResult, error) {
			time.Sleep(3 * time.Second)
			return differing(call, n)
		}})
		for range 4 {
			if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "drop", annotation.Destructive())}); err != nil {
				t.Fatal(err)
			}
		}
		if got := ledger.Spent("").Time; got != 12*time.Second {
			t.Errorf("spent %v, want 12s", got)
		}
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "drop", annotation.Destructive())})
		stopped(t, err, budget.Time)
	})
}

func TestStoppedCallsAreRecorded(t *testing.T) {
	t.Parallel()
	caller := budget.New(budget.Options{Session: budget.Limit{Calls: 1}})(&server{})
	n := callstate.Begin(t.Context())
	ctx := context.Context(n)
	for range 2 {
		_, _ = caller.CallTool(ctx, middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())})
	}
	if got := n.Record().Decisions; len(got) != 1 || got[0] != (callstate.Decision{Stage: "budget", What: "stopped", Why: "calls"}) {
		t.Errorf("got %+v", got)
	}
}

func TestNewRefusesInvalidNumbers(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]budget.Options{
		"Session.Calls": {Session: budget.Limit{Calls: -1}},
		"Session.Cost":  {Session: budget.Limit{Cost: math.NaN()}},
		"Session.Time":  {Session: budget.Limit{Time: -1}},
		"Idle":          {Idle: -1},
		"Repeats":       {Repeats: 101},
		"Pause":         {Pause: -1},
	} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.HasPrefix(v.(string), "budget: Options."+field) {
					t.Errorf("%s: got %v", field, v)
				}
			}()
			budget.New(o)
		}()
	}
}

func TestBudgetCosts(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	caller := budget.New(budget.Options{Pause: 1, Session: budget.Limit{Calls: math.MaxInt}})(&server{answer: func() func(middleware.Call, int64) (*mcp.CallToolResult, error) {
		res := textResult("x")
		return func(middleware.Call, int64) (*mcp.CallToolResult, error) { return res, nil }
	}()})
	call := middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly()), Arguments: json.RawMessage(`{"path":"a.txt","depth":2}`)}
	if got := testing.AllocsPerRun(200, func() { _, _ = caller.CallTool(context.Background(), call) }); got != 1 {
		t.Errorf("%v allocations, want 1, for the state of the call", got)
	}
}

func BenchmarkBudget(b *testing.B) {
	res := textResult(strings.Repeat("x", 1000))
	caller := budget.New(budget.Options{Pause: 1})(&server{answer: func(middleware.Call, int64) (*mcp.CallToolResult, error) { return res, nil }})
	call := middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly()), Arguments: json.RawMessage(`{"path":"a.txt","depth":2}`)}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = caller.CallTool(context.Background(), call)
	}
}
