package audit_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
)

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
