package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	discard := audit.SinkFunc(func(context.Context, audit.Record) error { return nil })
	broken := audit.SinkFunc(func(context.Context, audit.Record) error { return errors.New("the disk is full") })
	extra := []*middleware.Tool{
		testtool.New("files", "salaries", with(annotation.ReadOnly(), annotation.Restricted, annotation.Yes)),
		testtool.New("files", "motd", with(annotation.ReadOnly(), annotation.Public, annotation.No)),
	}
	for name, sink := range map[string]audit.Sink{"works": discard, "fails": broken} {
		trail := audit.New(sink, audit.Options{Key: key})
		t.Run("record, "+name, func(t *testing.T) { t.Parallel(); middlewaretest.Run(t, trail.Record, extra...) })
		t.Run("intent, "+name, func(t *testing.T) { t.Parallel(); middlewaretest.Run(t, trail.Intent, extra...) })
		t.Run("both, "+name, func(t *testing.T) {
			t.Parallel()
			middlewaretest.Run(t, chain.New(trail.Record, trail.Intent).Then, extra...)
		})
	}
}

func TestB271CallsThatCannotBeRecordedAreNotMade(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a    annotation.Annotations
		runs bool
	}{
		{"dangerous", annotation.Destructive(), false},
		{"unknown", annotation.Annotations{}, false},
		{"dangerous and public", with(annotation.Destructive(), annotation.Public, annotation.No), false},
		{"a restricted read", with(annotation.ReadOnly(), annotation.Restricted, annotation.Unset), false},
		{"a read that must be recorded", with(annotation.ReadOnly(), "", annotation.Yes), false},
		{"a read", annotation.ReadOnly(), true},
		{"a write", annotation.Write(), true},
		{"a public write", with(annotation.Write(), annotation.Public, annotation.Unset), true},
	} {
		for how, s := range map[string]*sink{"fails": {err: errors.New("disk full of hunter2")}, "panics": {panics: true}} {
			var log bytes.Buffer
			trail := audit.New(s, audit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			executed := 0
			caller := chain.Standard{Audit: trail, Confirm: hitl.New(yes, hitl.Options{})}.Then(guarded(
				middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					executed++
					return textResult("x"), nil
				})))
			_, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "touch", tt.a)})
			switch {
			case tt.runs && (err != nil || executed != 1):
				t.Errorf("%s, the sink %s: %v, executed %d times", tt.name, how, err, executed)
			case tt.runs:
			case executed != 0 || !errors.Is(err, audit.ErrRefused) || !middleware.NotSent(err) || !middleware.Permanent(err):
				t.Errorf("%s, the sink %s: %v, executed %d times", tt.name, how, err, executed)
			case strings.Contains(err.Error(), "hunter2"):
				t.Errorf("%s: the sink's own words: %v", tt.name, err)
			}
			if public := tt.a.SecurityLevel == annotation.Public && tt.runs; (trail.Lost() == 0) != public || (log.Len() == 0) != public {
				t.Errorf("%s, the sink %s: %d lost, the log has %q", tt.name, how, trail.Lost(), log.String())
			}
			if counts := trail.Counts(); len(counts) != 1 || (counts[0].Outcome == audit.Refused) == tt.runs {
				t.Errorf("%s, the sink %s: counted %+v", tt.name, how, counts)
			}
		}
	}
}

// The guard lets a call that must be recorded through only with both links of one
// trail, and with exactly what was written down.
func TestCallThatMustBeRecordedNeedsAWorkingTrail(t *testing.T) {
	t.Parallel()
	required := testtool.New("files", "salaries", with(annotation.ReadOnly(), annotation.Public, annotation.Yes))
	other := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			call.Arguments = json.RawMessage(`{"of":"everybody"}`)
			return next.CallTool(ctx, call)
		})
	}
	softer := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			kind := *call.Tool
			kind.Annotations = annotation.ReadOnly()
			call.Tool = &kind
			return next.CallTool(ctx, call)
		})
	}
	a, b := audit.New(new(sink), audit.Options{}), audit.New(new(sink), audit.Options{})
	for _, tt := range []struct {
		name  string
		links []middleware.Middleware
		runs  bool
	}{
		{"nothing", nil, false},
		{"record alone", []middleware.Middleware{a.Record}, false},
		{"intent alone", []middleware.Middleware{a.Intent}, false},
		{"of two trails", []middleware.Middleware{a.Record, b.Intent}, false},
		{"the wrong way round", []middleware.Middleware{a.Intent, a.Record}, false},
		{"both", []middleware.Middleware{a.Record, a.Intent}, true},
		{"two trails, both whole", []middleware.Middleware{a.Record, b.Record, a.Intent, b.Intent}, true},
		{"other arguments further in", []middleware.Middleware{a.Record, a.Intent, other}, false},
		{"other arguments further out", []middleware.Middleware{a.Record, other, a.Intent}, true},
		{"a softer copy is not recorded in full", []middleware.Middleware{a.Record, softer, a.Intent}, false},
	} {
		executed := 0
		end := guard.New(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			executed++
			return textResult("x"), nil
		}), func(context.Context, middleware.Call) (*middleware.Tool, error) { return required, nil })
		_, err := chain.New(tt.links...).Then(end).CallTool(t.Context(), middleware.Call{Tool: required})
		if runs := executed == 1; runs != tt.runs || runs != (err == nil) {
			t.Errorf("%s: executed %d times: %v", tt.name, executed, err)
		}
	}
}

func TestIntentsOfACallThatIsOverAreNotWritten(t *testing.T) {
	t.Parallel()
	s := new(sink)
	trail := audit.New(s, audit.Options{})
	var late func() error
	danger := testtool.New("files", "drop", annotation.Destructive())
	inner := trail.Intent(testtool.Answering(textResult("x"), nil))
	caller := trail.Record(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		late = func() error { _, err := inner.CallTool(ctx, call); return err }
		return textResult("x"), nil
	}))
	_, _ = caller.CallTool(t.Context(), middleware.Call{Tool: danger})
	if err := late(); !errors.Is(err, audit.ErrRefused) {
		t.Errorf("got %v", err)
	}
	if got := s.kinds(); got != "end" {
		t.Errorf("got %q", got)
	}
}

// The end is written with a context that outlives the call and has its values.
func TestSinkIsNotCutOff(t *testing.T) {
	t.Parallel()
	type valueKey struct{}
	ends := 0
	trail := audit.New(audit.SinkFunc(func(ctx context.Context, r audit.Record) error {
		if r.Kind == audit.End {
			ends++
			if _, bounded := ctx.Deadline(); ctx.Err() != nil || ctx.Done() != nil || bounded || ctx.Value(valueKey{}) != "trace" {
				t.Errorf("got %v", ctx)
			}
		}
		return nil
	}), audit.Options{})
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "trace"))
	cancel()
	_, _ = trail.Record(testtool.Answering(nil, context.Canceled)).CallTool(ctx, middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())})
	if ends != 1 {
		t.Errorf("%d ends", ends)
	}
}

func TestCallWithoutAToolHasAnEnd(t *testing.T) {
	t.Parallel()
	s := new(sink)
	trail := audit.New(s, audit.Options{})
	_, err := chain.New(trail.Record, trail.Intent).Then(guarded(testtool.Answering(textResult("x"), nil))).CallTool(t.Context(), middleware.Call{ID: "1"})
	if end := s.end(t); end.Outcome != audit.Refused || end.Class != "unknown" || err == nil {
		t.Errorf("got %+v, %v", end, err)
	}
}

func TestCallsAtTheSameTimeHaveTheirOwnRecords(t *testing.T) {
	t.Parallel()
	s := new(sink)
	trail := audit.New(s, audit.Options{})
	restricted := testtool.New("files", "salaries", with(annotation.Write(), annotation.Restricted, annotation.Yes))
	caller := chain.Standard{Audit: trail}.Then(guarded(middleware.ToolCallerFunc(
		func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return textResult("of " + call.ID), nil
		})))
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			_, _ = caller.CallTool(context.Background(), middleware.Call{ID: fmt.Sprint(i), Tool: restricted, Arguments: fmt.Appendf(nil, `{"of":"%d"}`, i)})
		})
	}
	all.Wait()
	arguments, results := make(map[int64]string), make(map[int64]string)
	for _, r := range s.all() {
		if r.Kind == audit.Intent {
			arguments[r.N] = r.Call + string(r.Arguments)
		} else {
			results[r.N] = r.Call + string(r.Result)
		}
	}
	for n, a := range arguments {
		id, _, _ := strings.Cut(a, "{")
		if !strings.Contains(a, fmt.Sprintf(`"of":"%s"`, id)) || !strings.Contains(results[n], `"of `+id+`"`) {
			t.Errorf("call %d: %s, %s", n, a, results[n])
		}
	}
	if len(arguments) != 100 || len(results) != 100 {
		t.Errorf("%d intents, %d ends", len(arguments), len(results))
	}
}

var discard = audit.SinkFunc(func(context.Context, audit.Record) error { return nil })

// Up to the level of names, one allocation for the state of the call, one for its passage and two for each record, which
// is written on a goroutine of its own.
func TestAuditCosts(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	for _, tt := range []struct {
		name string
		a    annotation.Annotations
		most float64
	}{
		{"counted", with(annotation.ReadOnly(), annotation.Public, annotation.No), 2},
		{"a read by name", annotation.ReadOnly(), 4},
		{"a write by name", annotation.Write(), 6},
		{"in full", with(annotation.ReadOnly(), annotation.Restricted, annotation.No), 1000},
	} {
		trail := audit.New(discard, audit.Options{})
		ctx := context.Background()
		call := middleware.Call{ID: "1", Tool: testtool.New("files", "touch", tt.a), Arguments: json.RawMessage(`{"path":"a.txt","depth":2}`)}
		cost := func(caller middleware.ToolCaller) float64 {
			return testing.AllocsPerRun(200, func() { _, _ = caller.CallTool(ctx, call) })
		}
		end := guarded(testtool.Answering(textResult("x"), nil))
		without, with := cost(end), cost(chain.New(trail.Record, trail.Intent).Then(end))
		t.Logf("%s: %v allocations more", tt.name, with-without)
		if with-without > tt.most {
			t.Errorf("%s: %v allocations more, want at most %v", tt.name, with-without, tt.most)
		}
	}
}

func BenchmarkTrail(b *testing.B) {
	trail := audit.New(discard, audit.Options{})
	for name, a := range map[string]annotation.Annotations{
		"named": annotation.ReadOnly(), "full": with(annotation.ReadOnly(), annotation.Restricted, annotation.No),
	} {
		b.Run(name, func(b *testing.B) {
			caller := chain.New(trail.Record, trail.Intent).Then(testtool.Answering(textResult("x"), nil))
			call := middleware.Call{ID: "1", Tool: testtool.New("files", "touch", a), Arguments: json.RawMessage(`{"path":"a.txt","depth":2}`)}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = caller.CallTool(context.Background(), call)
			}
		})
	}
}

// A person approves a deletion, and the trail has its intent and its outcome. A public read is
// only counted.
func ExampleNew() {
	trail := audit.New(audit.SinkFunc(func(_ context.Context, r audit.Record) error {
		fmt.Printf("%s: %s/%s (%s) %s%s\n", r.Kind, r.Server, r.Tool, r.Class, r.Arguments, r.Outcome)
		return nil
	}), audit.Options{})
	server := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return textResult("done"), nil })
	caller := chain.New(trail.Record, trail.Intent).Then(server)
	for _, t := range []struct {
		name string
		a    annotation.Annotations
	}{
		{"motd", with(annotation.ReadOnly(), annotation.Public, annotation.No)},
		{"list_users", annotation.ReadOnly()},
		{"set_password", with(annotation.Destructive(), annotation.Restricted, annotation.Yes)},
	} {
		made, err := middleware.NewTool("accounts", &mcp.Tool{Name: t.name}, t.a)
		if err != nil {
			panic(err)
		}
		call := middleware.Call{Tool: made, Arguments: json.RawMessage(`{"user":"ann","password":"hunter2"}`)}
		if _, err := caller.CallTool(context.Background(), call); err != nil {
			panic(err)
		}
	}
	fmt.Println(trail.Counts())
	// Output:
	// end: accounts/list_users (safe) ok
	// intent: accounts/set_password (dangerous) {"password":"[redacted]","user":"ann"}
	// end: accounts/set_password (dangerous) ok
	// [{dangerous ok 1} {safe ok 2}]
}
