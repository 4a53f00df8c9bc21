package doubt_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestIsAGoodCitizen(t *testing.T) {
	middlewaretest.Run(t, doubt.Intent(doubt.Options{Ledger: doubt.NewLedger(doubt.LedgerOptions{Store: doubt.NewMemory()})}))
	middlewaretest.Run(t, doubt.New(doubt.Options{}))
}

var errLost = errors.New("the connection was lost")

// A world is a chain in front of an executor that loses the answers to what lose names.
type world struct {
	t        *testing.T
	caller   middleware.ToolCaller
	ledger   *doubt.Ledger
	lose     func(call middleware.Call) error
	executed []string
	asked    []hitl.Request
	answer   hitl.Decision
}

func newWorld(t *testing.T, o doubt.Options, ask hitl.Options) *world {
	w := &world{t: t, answer: hitl.Decision{Verdict: hitl.Approved, By: "ann"}, lose: func(middleware.Call) error { return nil }}
	if o.Ledger == nil {
		o.Ledger = doubt.NewLedger(doubt.LedgerOptions{})
	}
	w.ledger = o.Ledger
	executor := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		w.executed = append(w.executed, call.Tool.Name()+string(call.Arguments))
		if err := w.lose(call); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{}, nil
	})
	person := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		w.asked = append(w.asked, r)
		return w.answer, nil
	})
	w.caller = chain.Standard{
		Doubt: doubt.New(o), Confirm: hitl.New(person, ask), Retry: retry.New(retry.Options{Rand: func() float64 { return 0 }}),
		Telemetry: func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(next.CallTool)
		},
	}.Then(guard.New(executor, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
		return tool(call.Tool.Name()), nil
	}))
	return w
}

// loses has the next call lost, and no other.
func (w *world) loses() {
	w.lose = func(middleware.Call) error {
		w.lose = func(middleware.Call) error { return nil }
		return errLost
	}
}

func (w *world) call(name, arguments string) error {
	return w.callAs("", name, arguments)
}

func (w *world) callAs(scope, name, arguments string) error {
	_, err := w.caller.CallTool(w.t.Context(), middleware.Call{Scope: scope, Tool: tool(name), Arguments: json.RawMessage(arguments)})
	return err
}

func (w *world) want(executed, asked, open int) {
	w.t.Helper()
	if len(w.executed) != executed || len(w.asked) != asked || len(w.ledger.Open()) != open {
		w.t.Errorf("executed %v, asked %d times, in doubt %v; want %d, %d, %d", w.executed, len(w.asked), w.ledger.Open(), executed, asked, open)
	}
}

var classes = map[string]annotation.Annotations{
	"create_order": annotation.Write().Attribute(annotation.Host, ""), "send_payment": annotation.Destructive().Attribute(annotation.Host, ""),
	"set_name": annotation.Update().Attribute(annotation.Host, ""), "list_orders": annotation.ReadOnly().Attribute(annotation.Host, ""),
}

func tool(name string) *middleware.Tool {
	t, err := middleware.NewTool("shop", &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Meta: mcp.Meta{"io.github.fairlead-go/settledBy": "list_orders"}}, classes[name])
	if err != nil {
		panic(err)
	}
	return t
}

func unknown(err error) bool { _, is := errors.AsType[*middleware.OutcomeUnknownError](err); return is }

// The next call with the same effect is held, the one after that is asked about, and the person
// sees why. A remembered approval does not answer for them.
func TestRepetitionIsHeldAndThenAskedAbout(t *testing.T) {
	for _, name := range []string{"create_order", "send_payment"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, doubt.Options{}, hitl.Options{Remember: hitl.Session})
				asks := 0
				if name == "send_payment" {
					asks = 1
				}
				w.answer.Remember = hitl.Session
				w.loses()
				if err := w.call(name, `{"amount":5,"to":"bob"}`); !unknown(err) {
					t.Fatal(err)
				}
				w.want(1, asks, 1)
				time.Sleep(40 * time.Second)
				err := w.call(name, ` {"to":"bob", "amount":5}`)
				if !errors.Is(err, doubt.ErrHeld) || !middleware.NotSent(err) || !strings.Contains(middleware.ForModel(err), "an earlier call with the same effect, 40s ago, may have happened. First check") {
					t.Fatal(err, middleware.ForModel(err))
				}
				w.want(1, asks, 1)
				if err := w.call(name, `{"amount":6,"to":"bob"}`); err != nil { // another effect
					t.Fatal(err)
				}
				w.want(2, 2*asks, 1)
				w.answer.Verdict = hitl.Denied
				if err := w.call(name, `{"amount":5,"to":"bob"}`); !errors.Is(err, hitl.ErrDenied) {
					t.Fatal(err)
				}
				w.want(2, 2*asks+1, 1)
				w.answer.Verdict = hitl.Approved
				if err := w.call(name, `{"amount":5,"to":"bob"}`); err != nil {
					t.Fatal(err)
				}
				w.want(3, 2*asks+2, 0)
				for _, r := range w.asked[2*asks:] {
					if !strings.Contains(r.Caution(), "the same call, 40s ago, may have happened") || len(r.Offers) > 0 {
						t.Errorf("the person was shown %q, %v", r.Caution(), r.Offers)
					}
				}
				if err := w.call(name, `{"amount":5,"to":"bob"}`); err != nil { // no longer in doubt
					t.Fatal(err)
				}
				w.want(4, 2*asks+2, 0)
			})
		})
	}
}

// A call that cannot have happened, is harmless or is of another scope is not held.
func TestWhatIsNotInDoubt(t *testing.T) {
	for name, row := range map[string]struct {
		tool string
		err  error
	}{
		"not sent":  {"create_order", &middleware.NotSentError{Err: errLost}},
		"an update": {"set_name", errLost},
		"a read":    {"list_orders", errLost},
	} {
		w := newWorld(t, doubt.Options{}, hitl.Options{})
		w.lose = func(middleware.Call) error { return row.err }
		if err := w.call(row.tool, `{}`); err == nil {
			t.Error(name)
		}
		w.lose = func(middleware.Call) error { return nil }
		if err := w.call(row.tool, `{}`); err != nil || len(w.ledger.Open()) > 0 {
			t.Errorf("%s: %v, %v", name, err, w.ledger.Open())
		}
	}
	w := newWorld(t, doubt.Options{}, hitl.Options{})
	w.loses()
	_ = w.callAs("ann", "create_order", `{}`)
	if err := w.callAs("bob", "create_order", `{}`); err != nil {
		t.Error(err)
	}
	w.want(2, 0, 1)
}

// A call that panics or ends its goroutine may have happened.
func TestCallThatNeverReturnsIsInDoubt(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("no") }, "Goexit": runtime.Goexit} {
		w := newWorld(t, doubt.Options{}, hitl.Options{})
		w.lose = func(middleware.Call) error { end(); return nil }
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = w.call("create_order", `{}`)
		}()
		<-done
		w.lose = func(middleware.Call) error { return nil }
		if err := w.call("create_order", `{}`); !errors.Is(err, doubt.ErrHeld) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The arguments of a person's edit may have happened as well.
func TestEditedCallIsInDoubtAsItWasSent(t *testing.T) {
	w := newWorld(t, doubt.Options{}, hitl.Options{})
	w.answer.Arguments = json.RawMessage(`{"amount":1}`)
	w.loses()
	if err := w.call("send_payment", `{"amount":5}`); !unknown(err) {
		t.Fatal(err)
	}
	w.answer.Arguments = nil
	for _, arguments := range []string{`{"amount":1}`, `{"amount":5}`} {
		if err := w.call("send_payment", arguments); !errors.Is(err, doubt.ErrHeld) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	w.want(1, 1, 2)
}

// Calls about one entity have one effect, whatever else they say.
func TestSameEntity(t *testing.T) {
	w := newWorld(t, doubt.Options{Entity: func(call middleware.Call) string {
		var a struct{ ID string }
		_ = json.Unmarshal(call.Arguments, &a)
		return a.ID
	}}, hitl.Options{})
	w.loses()
	_ = w.call("create_order", `{"id":"7","note":"first"}`)
	if err := w.call("create_order", `{"id":"7","note":"second"}`); !errors.Is(err, doubt.ErrHeld) {
		t.Error(err)
	}
	if err := w.call("create_order", `{"id":"8"}`); err != nil {
		t.Error(err)
	}
	w.want(2, 0, 1)
}

// The host finds out, and so does a read that shows it; nothing else settles a doubt.
func TestSettled(t *testing.T) {
	yes := func(string) bool { return true }
	reconcile := func(o doubt.Outcome, err error) func(context.Context, doubt.Call, middleware.Call) (doubt.Outcome, error) {
		return func(_ context.Context, first doubt.Call, again middleware.Call) (doubt.Outcome, error) {
			if first.Tool != again.Tool.Name() {
				return doubt.NotHappened, nil
			}
			return o, err
		}
	}
	for name, row := range map[string]struct {
		o          doubt.Options
		reads      string
		held, open bool
		says       string
	}{
		"it happened":               {doubt.Options{Reconcile: reconcile(doubt.Happened, nil)}, "", true, false, "has happened"},
		"it did not":                {doubt.Options{Reconcile: reconcile(doubt.NotHappened, nil)}, "", false, false, ""},
		"nobody knows":              {doubt.Options{Reconcile: reconcile(doubt.Unknown, nil)}, "", true, true, "may have happened"},
		"an error":                  {doubt.Options{Reconcile: reconcile(doubt.NotHappened, errLost)}, "", true, true, "may have happened"},
		"an undefined value":        {doubt.Options{Reconcile: reconcile(7, nil)}, "", true, true, "may have happened"},
		"the host's read":           {doubt.Options{Reads: map[string]string{"shop/create_order": "shop/list_orders"}}, "list_orders", false, false, ""},
		"it was not read":           {doubt.Options{Reads: map[string]string{"shop/create_order": "shop/list_orders"}}, "", true, true, "with shop__list_orders"},
		"another read":              {doubt.Options{Reads: map[string]string{"shop/create_order": "shop/get_order"}}, "list_orders", true, true, "with shop__get_order"},
		"the author's read":         {doubt.Options{Trusted: yes}, "list_orders", false, false, ""},
		"of a server not trusted":   {doubt.Options{}, "list_orders", true, true, "with a tool that only reads"},
		"a read of another entity":  {doubt.Options{Trusted: yes, Entity: func(c middleware.Call) string { return c.Tool.Name() }}, "list_orders", true, true, "with shop__list_orders"},
		"a write of the same name?": {doubt.Options{Reads: map[string]string{"shop/create_order": "shop/set_name"}}, "set_name", true, true, "with shop__set_name"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, row.o, hitl.Options{})
			w.loses()
			_ = w.call("create_order", `{}`)
			time.Sleep(time.Second)
			if row.reads != "" {
				if err := w.call(row.reads, `{}`); err != nil {
					t.Fatal(err)
				}
			}
			err := w.call("create_order", `{}`)
			if errors.Is(err, doubt.ErrHeld) != row.held || (len(w.ledger.Open()) > 0) != row.open || !strings.Contains(middleware.ForModel(err), row.says) {
				t.Errorf("%s: %v (%s), in doubt %v", name, err, middleware.ForModel(err), w.ledger.Open())
			}
		})
	}
}

// Without a confirmer, a call in doubt is not repeated at all.
func TestWithoutAConfirmer(t *testing.T) {
	lost := true
	executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		if lost {
			return nil, errLost
		}
		return &mcp.CallToolResult{}, nil
	})
	caller := chain.Standard{Doubt: doubt.New(doubt.Options{})}.Then(guard.New(executor, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
		return tool(call.Tool.Name()), nil
	}))
	for i, want := range []error{nil, doubt.ErrHeld, guard.ErrRefused, guard.ErrRefused} {
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool("create_order")})
		if lost = false; i == 0 && !unknown(err) || i > 0 && !errors.Is(err, want) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// A caller that writes over its arguments while the call is made does not change what is in doubt.
func TestDoubtIsAboutWhatCame(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"create_order", "send_payment"} {
		w := newWorld(t, doubt.Options{}, hitl.Options{})
		buffer := json.RawMessage(`{"amount":5,"to":"bob"}`)
		w.lose = func(middleware.Call) error {
			copy(buffer, `{"amount":7`)
			return errLost
		}
		if _, err := w.caller.CallTool(t.Context(), middleware.Call{Tool: tool(name), Arguments: buffer}); !unknown(err) {
			t.Fatal(err)
		}
		w.lose = func(middleware.Call) error { return nil }
		if err := w.call(name, `{"amount":5,"to":"bob"}`); !errors.Is(err, doubt.ErrHeld) {
			t.Errorf("%s: the repetition ended as %v", name, err)
		}
	}
}

// The read that shows the effect has the name by which the model calls the tools of that server.
func TestReadHasTheNameThatTheModelUses(t *testing.T) {
	t.Parallel()
	for called, want := range map[string]string{
		"": "shop__list_orders", "create_order": "with list_orders", "mcp__shop__create_order": "with mcp__shop__list_orders", "order": "with shop__list_orders",
	} {
		its := *tool("create_order")
		its.Called = called
		err := &doubt.HeldError{Tool: &its, Since: time.Now(), Read: "shop/list_orders"}
		if got := middleware.ForModel(err); !strings.Contains(got, want+" whether it did") || called != "" && !strings.HasPrefix(got, called+" was not called") {
			t.Errorf("called %q: the model reads %q", called, got)
		}
	}
}
