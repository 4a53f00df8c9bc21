package audit_test

import (
	"context"
	"encoding/json"
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

// guarded is an executor behind the guard of a catalog that holds what it is
// called with.
func guarded(next middleware.ToolCaller) middleware.ToolCaller {
	return guard.New(next, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil })
}

var yes = hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
	return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
})

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
