package approvals_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestStandingApprovalCoversOnlyItsLike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool, err := middleware.NewTool("files", &mcp.Tool{Name: "delete"}, annotation.Destructive())
		if err != nil {
			t.Fatal(err)
		}
		its := middleware.Call{Scope: "ann", Tool: tool, Arguments: json.RawMessage(`{"path":"a","password":"1"}`)}
		exact, err := approvals.ExactArguments(its.Arguments)
		if err != nil {
			t.Fatal(err)
		}
		s := approvals.Standing{
			ID: "1", Scope: "ann", Server: "files", Tool: "delete", Definition: tool.Digest.String(), Class: "dangerous",
			Arguments: exact, Until: time.Now().Add(time.Hour),
		}
		change := func(f func(*middleware.Tool)) func(*middleware.Call) {
			return func(c *middleware.Call) {
				other := *c.Tool
				f(&other)
				c.Tool = &other
			}
		}
		for _, tt := range []struct {
			name   string
			change func(*middleware.Call)
			want   bool
		}{
			{"the same", func(*middleware.Call) {}, true},
			{"another spelling", func(c *middleware.Call) { c.Arguments = json.RawMessage(` {"password":"1", "path":"a"}`) }, true},
			{"another call", func(c *middleware.Call) { c.ID = "2" }, true},
			{"B243: another path", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"/etc/shadow","password":"1"}`) }, false},
			{"B245: only the password differs", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"a","password":"2"}`) }, false},
			{"another scope", func(c *middleware.Call) { c.Scope = "bob" }, false},
			{"no scope", func(c *middleware.Call) { c.Scope = "" }, false},
			{"another server", change(func(t *middleware.Tool) { t.Server = "mail" }), false},
			{"another name", change(func(t *middleware.Tool) { t.Definition = &mcp.Tool{Name: "purge"} }), false},
			{"B241: another definition", change(func(t *middleware.Tool) { t.Digest[0]++ }), false},
			{"no digest", change(func(t *middleware.Tool) { t.Digest = middleware.Digest{} }), false},
			{"a sterner class", change(func(t *middleware.Tool) { t.Annotations = annotation.Annotations{} }), false},
			{"no tool", func(c *middleware.Call) { c.Tool = nil }, false},
		} {
			c := its
			tt.change(&c)
			if got := s.Covers(c); got != tt.want {
				t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
			}
		}
		both := s
		both.Pattern = approvals.Pattern{{Name: "path", Glob: "*"}, {Name: "password", Glob: "*"}}
		if both.Covers(its) {
			t.Error("one with both a pattern and arguments covers")
		}
		time.Sleep(time.Hour)
		if s.Covers(its) {
			t.Error("it covers after its time")
		}
	})
}

// One scope fills its own places and nobody else's: its next yes is refused, what others
// want remembered is kept, and nothing that stands is given up for it.
func TestStandingApprovalsAreBoundedByScope(t *testing.T) {
	t.Parallel()
	s := approvals.NewMemory()
	ctx, until := t.Context(), time.Now().Add(time.Hour)
	yes := func(scope string, n int) approvals.Standing {
		return approvals.Standing{
			ID: scope + strconv.Itoa(n), Scope: scope, Server: "files", Tool: "delete", Definition: "d", Class: "dangerous",
			Arguments: strconv.Itoa(n), Until: until,
		}
	}
	for n := range approvals.MaxStanding {
		if err := s.Remember(ctx, yes("ann", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remember(ctx, yes("ann", -1)); err == nil || !strings.Contains(err.Error(), "of this scope") {
		t.Errorf("one more than a scope may have: got %v", err)
	}
	if err := s.Remember(ctx, yes("bob", 0)); err != nil {
		t.Errorf("another scope has no place: %v", err)
	}
	for scope, want := range map[string]int{"ann": approvals.MaxStanding, "bob": 1, "": 0} {
		if got, err := s.Remembered(ctx, scope, "", ""); err != nil || len(got) != want {
			t.Errorf("%q has %d, %v, want %d", scope, len(got), err, want)
		}
	}
	if err := s.Forget(ctx, "ann", "ann7"); err != nil {
		t.Fatal(err)
	}
	if err := s.Remember(ctx, yes("ann", -1)); err != nil {
		t.Errorf("after one was forgotten: %v", err)
	}
}

// An approval of a value covers no call, and needs a session.
// An approval does not hold before it was given: a clock that was set back must not make it last longer.
func TestApprovalAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool, err := middleware.NewTool("files", &mcp.Tool{Name: "delete"}, annotation.Destructive())
		if err != nil {
			t.Fatal(err)
		}
		call := middleware.Call{Scope: "ann", Tool: tool, Arguments: json.RawMessage(`{}`)}
		for name, tt := range map[string]struct {
			back time.Duration
			want bool
		}{
			"B360: not set back": {0, true}, "B360: clocks of replicas differ": {time.Minute, true}, "B360: set back by a day": {24 * time.Hour, false},
		} {
			s := approvals.Standing{
				ID: "1", Scope: "ann", Server: "files", Tool: "delete", Definition: tool.Digest.String(), Class: "dangerous", Arguments: approvals.AnyArguments,
				Since: time.Now().Add(tt.back), Until: time.Now().Add(tt.back + time.Hour),
			}
			if got := s.Covers(call); got != tt.want {
				t.Errorf("%s: covers the call: %v, want %v", name, got, tt.want)
			}
		}
	})
}

func TestApprovalOfAValueCoversNoCall(t *testing.T) {
	tool, err := middleware.NewTool("bank", &mcp.Tool{Name: "pay", InputSchema: map[string]any{"type": "object"}}, annotation.Write())
	if err != nil {
		t.Fatal(err)
	}
	s := approvals.Standing{
		ID: "a", Session: "s", Server: "bank", Tool: "pay", Definition: tool.Digest.String(), Class: tool.Safety().String(),
		Value: `"DE02"`, Kind: "account", Until: time.Now().Add(time.Hour),
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	all := s // as no process of ours records it
	all.Arguments = approvals.AnyArguments
	for _, arguments := range []string{`{}`, `{"account":"DE02"}`} {
		call := middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)}
		if s.Covers(call) || all.Covers(call) {
			t.Errorf("it covers %s", arguments)
		}
	}
	if all.Value = ""; !all.Covers(middleware.Call{Tool: tool, Arguments: json.RawMessage(`{}`)}) {
		t.Error("without the value it covers nothing, so that nothing is shown")
	}
	for name, change := range map[string]func(*approvals.Standing){
		"no kind":    func(s *approvals.Standing) { s.Kind = "" },
		"no session": func(s *approvals.Standing) { s.Session = "" },
		"arguments":  func(s *approvals.Standing) { s.Arguments = approvals.AnyArguments },
	} {
		wrong := s
		if change(&wrong); wrong.Check() == nil {
			t.Errorf("%s: it can be recorded", name)
		}
	}
}
