package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A sink is one in memory, which fails as the test sets.
type sink struct {
	mu      sync.Mutex
	records []audit.Record
	err     error
	panics  bool
}

func (s *sink) Write(_ context.Context, r audit.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics {
		panic("the sink is broken")
	}
	if s.err != nil {
		return s.err
	}
	s.records = append(s.records, r)
	return nil
}

func (s *sink) all() []audit.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

// kinds are those of what was written, in their order.
func (s *sink) kinds() string {
	var kinds []string
	for _, r := range s.all() {
		kinds = append(kinds, string(r.Kind))
	}
	return strings.Join(kinds, " ")
}

// end is the one end that there is.
func (s *sink) end(t *testing.T) audit.Record {
	t.Helper()
	var ends []audit.Record
	for _, r := range s.all() {
		if r.Kind == audit.End {
			ends = append(ends, r)
		}
	}
	if len(ends) != 1 {
		t.Fatalf("got %d ends, want 1: %+v", len(ends), ends)
	}
	return ends[0]
}

// with returns the annotations with a level of security and the host's word that
// calls must be recorded.
func with(a annotation.Annotations, level annotation.SecurityLevel, required annotation.Hint) annotation.Annotations {
	a.SecurityLevel, a.AuditRequired = level, required
	return a
}

func textResult(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// guarded is an executor behind the guard of a catalogue that holds what it is
// called with.
func guarded(next middleware.ToolCaller) middleware.ToolCaller {
	return guard.New(next, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil })
}

var yes = hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
	return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
})

func TestSecurityLevelSetsTheDetail(t *testing.T) {
	t.Parallel()
	moderate := annotation.Write()
	for _, tt := range []struct {
		name  string
		a     annotation.Annotations
		kinds string
		full  bool
	}{
		{"a public read is counted", with(annotation.ReadOnly(), annotation.Public, annotation.Unset), "", false},
		{"a public write is counted", with(moderate, annotation.Public, annotation.No), "", false},
		{"a public dangerous call has a name", with(annotation.Destructive(), annotation.Public, annotation.No), "intent end", false},
		{"a public unclassified call has a name", with(annotation.Annotations{}, annotation.Public, annotation.No), "intent end", false},
		{"a read without a level", annotation.ReadOnly(), "end", false},
		{"a write without a level", moderate, "intent end", false},
		{"nothing known", annotation.Annotations{}, "intent end", false},
		{"an undefined level", with(annotation.ReadOnly(), "secret", annotation.Unset), "end", false},
		{"an internal read", with(annotation.ReadOnly(), annotation.Internal, annotation.Unset), "end", false},
		{"a restricted read", with(annotation.ReadOnly(), annotation.Restricted, annotation.No), "intent end", true},
		{"a public read that must be recorded", with(annotation.ReadOnly(), annotation.Public, annotation.Yes), "intent end", true},
		{"a dangerous call that must be recorded", with(annotation.Destructive(), annotation.Internal, annotation.Yes), "intent end", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := new(sink)
			trail := audit.New(s, audit.Options{})
			caller := chain.Standard{Audit: trail, Confirm: hitl.New(yes, hitl.Options{})}.Then(guarded(testtool.Answering(textResult("the answer"), nil)))
			call := middleware.Call{ID: "c1", Scope: "ann", Tool: testtool.New("files", "touch", tt.a), Arguments: json.RawMessage(`{"path":"/etc/motd"}`)}
			if _, err := caller.CallTool(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			if got := s.kinds(); got != tt.kinds {
				t.Errorf("got %q, want %q", got, tt.kinds)
			}
			written, _ := json.Marshal(s.all())
			if got := strings.Contains(string(written), "motd") && strings.Contains(string(written), "the answer"); got != tt.full {
				t.Errorf("in full: got %t, want %t: %s", got, tt.full, written)
			}
			if counts := trail.Counts(); len(counts) != 1 || counts[0] != (audit.Count{Class: call.Tool.Safety(), Outcome: audit.OK, Calls: 1}) {
				t.Errorf("counted %+v", counts)
			}
			for _, r := range s.all() {
				if r.Server != "files" || r.Tool != "touch" || r.Class != call.Tool.Safety().String() || r.Call != "c1" || r.Scope != "ann" || r.Time.IsZero() || r.N != 1 || r.Run == "" {
					t.Errorf("the record does not say which call it is: %+v", r)
				}
				if must := call.Tool.Safety().MustConfirm() || tt.full; r.Durable != must || (r.Definition != "") != (must && r.Kind == audit.Intent) {
					t.Errorf("durable %t, definition %q; want both: %t", r.Durable, r.Definition, must)
				}
			}
		})
	}
}

// The record of a call with an accountable person has the arguments without their secrets, and who
// decided and how that person was reached.
func TestArgumentsThatAPersonAnswersForAreKept(t *testing.T) {
	t.Parallel()
	internal := func(source annotation.Source) annotation.Annotations {
		return with(annotation.Destructive(), annotation.Internal, annotation.Unset).Attribute(source, "")
	}
	no := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{By: "bob", Via: "form"}, nil
	})
	ann := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Verdict: hitl.Approved, By: "ann", Via: "page"}, nil
	})
	for name, row := range map[string]struct {
		a       annotation.Annotations
		o       audit.Options
		asks    hitl.Confirmer
		writes  bool
		kept    audit.Kind
		by, via string
	}{
		"dangerous":                         {annotation.Destructive(), audit.Options{}, ann, false, audit.Intent, "ann", "page"},
		"unknown":                           {annotation.Annotations{}, audit.Options{}, ann, false, audit.Intent, "ann", "page"},
		"denied":                            {annotation.Destructive(), audit.Options{}, no, false, audit.End, "bob", "form"},
		"a write that is confirmed":         {annotation.Write(), audit.Options{}, ann, true, audit.Intent, "ann", "page"},
		"a public one":                      {with(annotation.Write(), annotation.Public, annotation.Unset), audit.Options{}, ann, true, audit.Intent, "ann", "page"},
		"a write that is denied":            {annotation.Write(), audit.Options{}, no, true, audit.End, "bob", "form"},
		"a write":                           {annotation.Write(), audit.Options{}, ann, false, "", "", ""},
		"a read":                            {annotation.ReadOnly(), audit.Options{}, ann, true, "", "", ""},
		"turned off":                        {annotation.Destructive(), audit.Options{NoArguments: true}, ann, false, "", "ann", "page"},
		"internal, by the host":             {internal(annotation.Host), audit.Options{}, ann, false, "", "ann", "page"},
		"internal, by a rule of the host's": {internal(annotation.Rule), audit.Options{}, ann, false, "", "ann", "page"},
		"internal, by the server":           {internal(annotation.Declared), audit.Options{}, ann, false, audit.Intent, "ann", "page"},
	} {
		s := new(sink)
		caller := chain.Standard{Audit: audit.New(s, row.o), Confirm: hitl.New(row.asks, hitl.Options{Writes: row.writes})}.Then(guarded(testtool.Answering(textResult("ok"), nil)))
		_, _ = caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "drop", row.a), Arguments: json.RawMessage(`{"path":"/etc/motd","password":"hunter2"}`)})
		kept := audit.Kind("")
		for _, r := range s.all() {
			switch string(r.Arguments) {
			case `{"password":"[redacted]","path":"/etc/motd"}`:
				kept += r.Kind
			case "":
			default:
				t.Errorf("%s: kept %s", name, r.Arguments)
			}
		}
		if end := s.end(t); kept != row.kept || end.By != row.by || end.Via != row.via {
			t.Errorf("%s: kept in %q, by %q via %q; want %q, %q, %q", name, kept, end.By, end.Via, row.kept, row.by, row.via)
		}
	}
}

func errorOf(permanent, notSent, refused bool, after time.Duration) error {
	return fact{permanent, notSent, refused, after}
}

type fact struct {
	permanent, notSent, refused bool
	after                       time.Duration
}

func (fact) Error() string               { return "a fact" }
func (f fact) Permanent() bool           { return f.permanent }
func (f fact) NotSent() bool             { return f.notSent }
func (f fact) Refused() bool             { return f.refused }
func (f fact) RetryAfter() time.Duration { return f.after }

func TestEveryCallHasOneEndInItsOwnWords(t *testing.T) {
	t.Parallel()
	read, write, danger := testtool.New("files", "look", annotation.ReadOnly()), testtool.New("files", "add", annotation.Write()), testtool.New("files", "drop", annotation.Destructive())
	cancelled := func() context.Context {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx
	}
	errShutdown := errors.New("the host shuts down")
	caused := func() context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errShutdown)
		return ctx
	}
	late := func() context.Context {
		ctx, cancel := context.WithDeadlineCause(context.Background(), time.Now().Add(-time.Second), errShutdown)
		t.Cleanup(cancel)
		return ctx
	}
	panics := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("boo") })
	no := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Reason: "not today"}, nil
	})
	later := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{}, &hitl.PendingError{}
	})
	needs := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"x": nil}}
	seen := make(map[audit.Outcome]bool)
	for _, tt := range []struct {
		name string
		tool *middleware.Tool
		ctx  context.Context
		ask  hitl.Confirmer
		end  middleware.ToolCaller
		want audit.Outcome
	}{
		{"a result", read, nil, nil, testtool.Answering(textResult("x"), nil), audit.OK},
		{"a failure of the tool", read, nil, nil, testtool.Answering(&mcp.CallToolResult{IsError: true}, nil), audit.ToolError},
		{"a question of the server's", read, nil, nil, testtool.Answering(needs, nil), audit.InputRequired},
		{"a no", danger, nil, no, testtool.Answering(textResult("x"), nil), audit.Denied},
		{"a question that waits for another leg", danger, nil, later, testtool.Answering(textResult("x"), nil), audit.InputRequired},
		{"nobody to ask", danger, nil, nil, testtool.Answering(textResult("x"), nil), audit.Denied},
		{"refused by the server", write, nil, nil, testtool.Answering(nil, errorOf(false, false, true, 0)), audit.Refused},
		{"refused for good", write, nil, nil, testtool.Answering(nil, errorOf(true, true, false, 0)), audit.Refused},
		{"refused for now", write, nil, nil, testtool.Answering(nil, errorOf(false, true, false, time.Second)), audit.Refused},
		{"not sent", write, nil, nil, testtool.Answering(nil, errorOf(false, true, false, 0)), audit.NotSent},
		{"given up before it left", write, cancelled(), nil, testtool.Answering(textResult("x"), nil), audit.Cancelled},
		{"given up before it left, with a cause", write, caused(), nil, testtool.Answering(textResult("x"), nil), audit.Cancelled},
		{"late before it left, with a cause", write, late(), nil, testtool.Answering(textResult("x"), nil), audit.TimedOut},
		{"a read that was given up", read, nil, nil, testtool.Answering(nil, context.Canceled), audit.Cancelled},
		{"a read that took too long", read, nil, nil, testtool.Answering(nil, context.DeadlineExceeded), audit.TimedOut},
		{"a read that panicked", read, nil, nil, panics, audit.Panicked},
		{"a read that failed", read, nil, nil, testtool.Answering(nil, errors.New("broken pipe")), audit.Failed},
		{"a write that was given up on its way", write, nil, nil, testtool.Answering(nil, context.Canceled), audit.Unknown},
		{"a write that panicked", write, nil, nil, panics, audit.Unknown},
		{"a dangerous call without an answer", danger, nil, yes, testtool.Answering(nil, context.DeadlineExceeded), audit.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := new(sink)
			trail := audit.New(s, audit.Options{})
			caller := chain.Standard{Audit: trail, Confirm: hitl.New(tt.ask, hitl.Options{})}.Then(guarded(tt.end))
			ctx := tt.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			_, _ = caller.CallTool(ctx, middleware.Call{Tool: tt.tool})
			if got := s.end(t).Outcome; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if from := s.end(t).From; from != "" && s.end(t).Approval == "" && tt.tool == danger {
				t.Errorf("from %q, without an approval", from)
			}
			if counts := trail.Counts(); len(counts) != 1 || counts[0].Outcome != tt.want || counts[0].Calls != 1 {
				t.Errorf("counted %+v", counts)
			}
			seen[tt.want] = true
		})
	}
	for _, o := range audit.Outcomes {
		if !seen[o] {
			t.Errorf("no case ends as %s", o)
		}
	}
}

// A context may end with a cause, and then neither of package context's own errors is in the
// error. A failure that only comes at the same time stays one.
func TestCauseOfTheHostsIsAnEndOfItsCaller(t *testing.T) {
	t.Parallel()
	shutdown := errors.New("the host shuts down")
	for _, tt := range []struct {
		name string
		err  error
		want audit.Outcome
	}{
		{"the cause", shutdown, audit.Cancelled},
		{"the cause in a tree", fmt.Errorf("crm: %w", shutdown), audit.Cancelled},
		{"a failure beside it", errors.New("broken pipe"), audit.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			s := new(sink)
			caller := audit.New(s, audit.Options{}).Record(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				cancel(shutdown)
				return nil, tt.err
			}))
			_, _ = caller.CallTool(ctx, middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())})
			if got := s.end(t).Outcome; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Without recover in between, a panic goes on its way and is recorded all the same.
func TestPanicThatPassesHasAnEnd(t *testing.T) {
	t.Parallel()
	s := new(sink)
	trail := audit.New(s, audit.Options{})
	caller := trail.Record(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("boo") }))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())})
	}()
	if got := s.end(t).Outcome; got != audit.Panicked {
		t.Errorf("got %q", got)
	}
}

// The record has the decisions of the packages: the class, the person's yes, the attempts, and
// where the answer came from.
func TestRecordHasTheDecisions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(sink)
		trail := audit.New(s, audit.Options{})
		fails := 1
		caller := chain.Standard{
			Audit: trail, Infer: infer.New(infer.Options{}),
			Confirm: hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				time.Sleep(20 * time.Second)
				return hitl.Decision{Verdict: hitl.Approved}, nil
			}), hitl.Options{}),
			Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{}), Timeout: timeout.New(timeout.Options{}),
			RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 60, Burst: 1}),
		}.Then(chain.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			if fails--; fails == 0 {
				return nil, errorOf(false, true, false, 0)
			}
			return textResult("x"), nil
		})))
		call := func(name string) audit.Record {
			before := len(s.all())
			definition := &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}}
			if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: definition}); err != nil {
				t.Fatal(err)
			}
			written := s.all()[before:]
			return written[len(written)-1]
		}
		decisions := func(r audit.Record) string {
			var all []string
			for _, d := range r.Decisions {
				all = append(all, d.Stage+" "+d.What+d.Why)
			}
			return strings.Join(all, ", ")
		}
		first := call("list_notes")
		if got := decisions(first); first.Class != "safe" || first.Attempts != 2 || first.From != "server" || got != "cache miss, retry again, ratelimit waited" {
			t.Errorf("got %s, %d attempts, from %s: %s", first.Class, first.Attempts, first.From, got)
		}
		if again := call("list_notes"); again.From != "cache" || !strings.HasPrefix(decisions(again), "cache hitfrom the cache, ") || again.Attempts != 0 {
			t.Errorf("got from %s: %s", again.From, decisions(again))
		}
		gone := call("delete_file")
		if got := decisions(gone); gone.Class != "dangerous" || gone.Approval == "" || gone.Waited != 20*time.Second || gone.Took < gone.Waited ||
			got != "hitl allowed, cache passed" || len(gone.Evidence) != 0 {
			t.Errorf("got %s, approval %q, waited %v of %v: %s, %q", gone.Class, gone.Approval, gone.Waited, gone.Took, got, gone.Evidence)
		}
		intent := s.all()[len(s.all())-2]
		if intent.Kind != audit.Intent || intent.N != gone.N || intent.Run != gone.Run || intent.Approval != gone.Approval ||
			len(intent.Evidence) != 2 || intent.Evidence[1] != `destructive yes: inferred: "delete" leads the name` {
			t.Errorf("the intent does not go with the end: %+v", intent)
		}
	})
}

func TestCallThatIsStoppedBeforeItsIntentHasAnEnd(t *testing.T) {
	t.Parallel()
	s := new(sink)
	trail := audit.New(s, audit.Options{})
	caller := chain.Standard{Audit: trail, Budget: budget.New(budget.Options{Session: budget.Limit{Calls: 1}})}.
		Then(guarded(testtool.Answering(textResult("x"), nil)))
	restricted := testtool.New("files", "salaries", with(annotation.ReadOnly(), annotation.Restricted, annotation.Unset))
	for range 2 {
		_, _ = caller.CallTool(t.Context(), middleware.Call{Tool: restricted, Arguments: json.RawMessage(`{"of":"bob"}`)})
	}
	if got := s.kinds(); got != "intent end end" {
		t.Fatalf("got %q", got)
	}
	last := s.all()[2]
	if last.Outcome != audit.Refused || string(last.Arguments) != `{"of":"bob"}` || !strings.Contains(last.Error, "budget:") {
		t.Errorf("got %+v", last)
	}
	if first := s.all()[1]; first.Arguments != nil {
		t.Errorf("the arguments are in both records of a call: %+v", first)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"no sink":     func() { audit.New(nil, audit.Options{}) },
		"a short key": func() { audit.New(new(sink), audit.Options{Key: []byte("short")}) },
	} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.HasPrefix(v.(string), "audit: ") {
					t.Errorf("%s: got %v", name, v)
				}
			}()
			f()
		}()
	}
}
