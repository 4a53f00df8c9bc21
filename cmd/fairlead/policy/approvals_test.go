package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A remembered approval of the file answers for the calls that it covers, until its day is
// over, and for none that a rule or an untrusted source asks about.
func TestApprovedInTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it is the year 2000
		const text = `{"approvals": {"approved": [
			{"tool": "files/write_file", "class": "dangerous", "members": {"path": {"like": "drafts/*"}, "content": {"any": true}, "mode": {"is": {"a": 1}}}, "until": "2000-01-03"}]}`
		const fits = `{"path":"drafts/a","content":"../\n","mode":{"a":1}}`
		asked := errors.New("a person is asked")
		for _, tt := range []struct {
			name, arguments, rules, tool string
			change                       func(r *hitl.Request)
			after                        time.Duration
			want                         bool
		}{
			{"it fits", fits, ``, "write_file", nil, 0, true},
			{"another folder", `{"path":"drafts-old/a","content":"","mode":{"a":1}}`, ``, "write_file", nil, 0, false},
			{"out of its folder", `{"path":"drafts/../a","content":"","mode":{"a":1}}`, ``, "write_file", nil, 0, false},
			{"another value", `{"path":"drafts/a","content":"","mode":{"a":2}}`, ``, "write_file", nil, 0, false},
			{"a member less", `{"path":"drafts/a","content":""}`, ``, "write_file", nil, 0, false},
			{"another tool", fits, ``, "write_files", nil, 0, false},
			{"a rule asks", fits, `,"rules": [{"tool": "files/*", "decide": "ask"}]`, "write_file", nil, 0, false},
			{"an untrusted source", fits, ``, "write_file", func(r *hitl.Request) { r.Sources = []hitl.Source{{Rule: "untrusted"}} }, 0, false},
			{"in doubt", fits, ``, "write_file", func(r *hitl.Request) { r.InDoubt = time.Now() }, 0, false},
			{"with _meta", fits, ``, "write_file", func(r *hitl.Request) { r.Extra = json.RawMessage(`{"_meta":{}}`) }, 0, false},
			{"on its last day", fits, ``, "write_file", nil, 60 * time.Hour, true},
			{"two days after", fits, ``, "write_file", nil, 48 * time.Hour, false},
		} {
			tool, err := middleware.NewTool("files", &mcp.Tool{Name: tt.tool}, annotation.Destructive())
			if err != nil {
				t.Fatal(err)
			}
			r := hitl.Request{Tool: tool, Arguments: json.RawMessage(tt.arguments)}
			if tt.change != nil {
				tt.change(&r)
			}
			p := parse(t, text+tt.rules+"}")
			time.Sleep(tt.after)
			d, err := p.Confirmer(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, asked }), nil).Confirm(t.Context(), r)
			if got := d.Verdict == hitl.Approved; got != tt.want || got == errors.Is(err, asked) {
				t.Errorf("%s: got %+v, %v", tt.name, d, err)
			}
			if tt.want && d.By != "the policy, p.json:2" {
				t.Errorf("%s: by %q", tt.name, d.By)
			}
		}
	})
}

// The file has the words of the dialogs for how long an approval may stand.
func TestLimitOfAlways(t *testing.T) {
	t.Parallel()
	for _, e := range append(approvals.Lifetimes(10*24*time.Hour), approvals.Lifetimes(90*24*time.Hour)...) {
		p, err := policy.Parse("f.json", []byte(`{"approvals": {"remember": "always", "always": "`+e.Name+`"}}`))
		if err != nil || p.Approvals.AlwaysLifetime != e.Duration {
			t.Errorf("%s: got %v, %v", e.Name, p, err)
		}
	}
	for _, wrong := range []string{"1 month", "week", "-1 day", "0 days", "1.5 days", "99999 weeks", "1 day "} {
		if _, err := policy.Parse("f.json", []byte(`{"approvals": {"always": "`+wrong+`"}}`)); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}
