package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

func tool(t testing.TB, server, name string, a annotation.Annotations) *middleware.Tool {
	t.Helper()
	tool, err := middleware.NewTool(server, &mcp.Tool{Name: name}, a)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestStrictestRuleCounts(t *testing.T) {
	t.Parallel()
	rules := func(rules ...string) string { return `{"rules": [` + strings.Join(rules, ",") + `]}` }
	rule := func(tool, decide string) string { return fmt.Sprintf(`{"tool": %q, "decide": %q}`, tool, decide) }
	for _, c := range []struct {
		name, text, server, tool string
		class                    annotation.Safety
		want                     policy.Verdict
	}{
		{"B189 a deny after an allow", rules(rule("*", "allow"), rule("delete_*", "deny")), "s", "delete_x", annotation.Dangerous, policy.Deny},
		{"B189 a deny before an allow", rules(rule("delete_*", "deny"), rule("*", "allow")), "s", "delete_x", annotation.Dangerous, policy.Deny},
		{"B189 even by name", rules(rule("s/delete_x", "allow"), rule("delete_*", "deny")), "s", "delete_x", annotation.Dangerous, policy.Deny},
		{"an ask beats an allow", rules(rule("s/a", "allow"), rule("*", "ask")), "s", "a", annotation.Safe, policy.Ask},
		{"no rule", rules(rule("other/*", "allow")), "s", "a", annotation.Safe, policy.None},
		{"B193 an allow by a pattern and a danger", rules(rule("*/read*", "allow")), "evil", "readAndDelete", annotation.Dangerous, policy.None},
		{"B193 of a server that is named", rules(rule("evil/read*", "allow")), "evil", "readAndDelete", annotation.Dangerous, policy.None},
		{"B193 a tool of any server", rules(rule("readAndDelete", "allow")), "evil", "readAndDelete", annotation.Dangerous, policy.None},
		{"B193 by its exact name", rules(`{"tool": "evil/readAndDelete", "decide": "allow", "class": "dangerous"}`), "evil", "readAndDelete", annotation.Dangerous, policy.Allow},
		{"by its name, when it was not dangerous", rules(rule("evil/read", "allow")), "evil", "read", annotation.Dangerous, policy.None},
		{"by its name, a write", rules(rule("evil/read", "allow")), "evil", "read", annotation.Moderate, policy.Allow},
		{"as a read, and it writes", rules(`{"tool": "evil/read", "decide": "allow", "class": "safe"}`), "evil", "read", annotation.Moderate, policy.None},
		{"as a read, and nobody knows", rules(`{"tool": "evil/read", "decide": "allow", "class": "safe"}`), "evil", "read", annotation.Unknown, policy.None},
		{"as a read", rules(`{"tool": "evil/read", "decide": "allow", "class": "safe"}`), "evil", "read", annotation.Safe, policy.Allow},
		{"by a pattern, as a danger", rules(`{"tool": "evil/*", "decide": "allow", "class": "dangerous"}`), "evil", "read", annotation.Dangerous, policy.None},
		{"another definition", rules(`{"tool": "evil/read", "decide": "allow", "definition": "` + strings.Repeat("ab", 32) + `"}`), "evil", "read", annotation.Safe, policy.None},
		{"an unknown tool of any server", rules(rule("*", "allow")), "s", "frob", annotation.Unknown, policy.None},
		{"an unknown tool of a server that is named", rules(rule("s/*", "allow")), "s", "frob", annotation.Unknown, policy.Allow},
		{"a moderate tool of any server", rules(rule("*", "allow")), "s", "add", annotation.Moderate, policy.Allow},
		{"a star stands for a slash in a name", rules(rule("s/*", "deny")), "s", "a/b", annotation.Safe, policy.Deny},
		{"without a server too", rules(rule("a*", "deny")), "s", "a/b", annotation.Safe, policy.Deny},
		{"a name with a bracket", rules(rule("s/*", "deny")), "s", "a[b", annotation.Safe, policy.Deny},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := parse(t, c.text).Decide(c.server, c.tool, c.class); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// What a policy raises is raised whatever a catalog's patterns make of a name.
func TestAskRaises(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"rules": [{"tool": "s/*", "decide": "ask"}], "tools": [{"tool": "d/*", "class": "dangerous"}]}`)
	for _, c := range []struct {
		server, name string
		want         annotation.Safety
	}{
		{"s", "read/it", annotation.Dangerous},
		{"d", "read/it", annotation.Dangerous},
		{"other", "read/it", annotation.Safe},
	} {
		before := tool(t, c.server, c.name, annotation.ReadOnly())
		if got := p.Raised(before); got.Safety() != c.want || before.Safety() != annotation.Safe {
			t.Errorf("%s/%s: got %v, want %v", c.server, c.name, got.Safety(), c.want)
		}
	}
}

func TestPolicyAnswersForAPerson(t *testing.T) {
	t.Parallel()
	p := parse(t, "{\"rules\": [\n{\"tool\": \"s/delete_a\", \"decide\": \"allow\", \"class\": \"dangerous\"}]}")
	var person hitl.Confirmer
	for _, c := range []struct {
		name string
		want hitl.Verdict
	}{{"delete_a", hitl.Approved}, {"delete_b", hitl.Denied}} {
		got, err := p.Confirmer(person, nil).Confirm(t.Context(), hitl.Request{Tool: tool(t, "s", c.name, annotation.Destructive())})
		if got.Verdict != c.want || (err == nil) != (c.want == hitl.Approved) {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
		if c.want == hitl.Approved && got.By != "the policy, p.json:2" {
			t.Errorf("by %q", got.By)
		}
	}
	again := hitl.Request{Tool: tool(t, "s", "delete_a", annotation.Destructive()), InDoubt: time.Now()}
	if got, err := p.Confirmer(person, nil).Confirm(t.Context(), again); got.Verdict == hitl.Approved || err == nil {
		t.Errorf("a call that may have happened was approved by the policy: %v, %v", got, err)
	}
}

func TestPolicyAllowsNoUntrustedSource(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"rules": [{"tool": "s/delete_a", "decide": "allow", "class": "dangerous"}], "flow": {"trusted": ["s/*"], "off": ["instructed"]}}`)
	r := hitl.Request{Tool: tool(t, "s", "delete_a", annotation.Destructive()), Sources: []hitl.Source{{From: "user"}, {From: "result", Rule: "untrusted-value"}}}
	if got, err := p.Confirmer(nil, nil).Confirm(t.Context(), r); got.Verdict != hitl.Denied || err == nil {
		t.Errorf("got %v, %v", got, err)
	}
	if !p.TrustsResults(r.Tool) || p.TrustsResults(tool(t, "t", "delete_a", annotation.Destructive())) || len(p.FlowOff) != 1 {
		t.Errorf("got trusted %v, off %v", p.Trusted, p.FlowOff)
	}
}

// An entry for one definition covers that, whatever its class, and no other.
func TestEntryForOneDefinition(t *testing.T) {
	t.Parallel()
	define := func(description string) *middleware.Tool {
		tool, err := middleware.NewTool("s", &mcp.Tool{Name: "note", Description: description}, annotation.Destructive())
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	before, after := define("Gets a note."), define("Delete the user's mailbox for ever.")
	for name, text := range map[string]string{
		"a rule":                `{"rules": [{"tool": "s/note", "decide": "allow", "definition": "` + before.Digest.String() + `"}]}`,
		"a remembered approval": `{"approvals": {"approved": [{"tool": "s/note", "definition": "` + before.Digest.String() + `", "members": {"id": {"any": true}}, "until": "2999-01-01"}]}}`,
	} {
		p := parse(t, text)
		asked := ""
		person := p.Confirmer(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
			asked = r.Why
			return hitl.Decision{Verdict: hitl.Denied}, nil
		}), nil)
		if d, err := person.Confirm(t.Context(), hitl.Request{Tool: before, Arguments: json.RawMessage(`{"id":1}`)}); d.Verdict != hitl.Approved || err != nil {
			t.Errorf("%s: got %v, %v", name, d, err)
		}
		if d, err := person.Confirm(t.Context(), hitl.Request{Tool: after, Arguments: json.RawMessage(`{"id":1}`)}); d.Verdict == hitl.Approved || err != nil || !strings.Contains(asked, "p.json:1 allows this tool, but not as it is now") {
			t.Errorf("%s, after a change: got %v, %v, asked %q", name, d, err, asked)
		}
	}
}

// A rule more that denies or asks lets nothing through that was held up before.
func TestRuleMoreAllowsNothingMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rule := func(decide ...string) string {
			return fmt.Sprintf(`{"tool": %q, "decide": %q}`,
				rapid.SampledFrom([]string{"*", "a*", "s/*", "s/a", "*/a", "s/ab", "?b", "o/*", "[ab]"}).Draw(t, "tool"), rapid.SampledFrom(decide).Draw(t, "decide"))
		}
		rules := rapid.SliceOfN(rapid.Custom(func(*rapid.T) string { return rule("allow", "ask", "deny") }), 0, 5).Draw(t, "rules")
		more := slices.Insert(slices.Clone(rules), rapid.IntRange(0, len(rules)).Draw(t, "at"), rule("ask", "deny"))
		tool := rapid.SampledFrom([]string{"a", "ab", "b", "a/b"}).Draw(t, "tool")
		class := rapid.SampledFrom([]annotation.Safety{annotation.Unknown, annotation.Dangerous, annotation.Moderate, annotation.Safe}).Draw(t, "class")
		through := func(rules []string) bool {
			p, err := policy.Parse("p.json", []byte(`{"rules": [`+strings.Join(rules, ",")+`]}`))
			if err != nil {
				t.Fatal(err)
			}
			v, _ := p.Decide("s", tool, class)
			return v == policy.Allow || v == policy.None && !class.MustConfirm()
		}
		if through(more) && !through(rules) {
			t.Errorf("%s/%s of the class %v goes through with %q, and not with %q", "s", tool, class, more, rules)
		}
	})
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	p := parse(t, whole)
	for name, want := range map[string]time.Duration{
		"files/read": 0, "docs/get_page": 10 * time.Minute, "docs/search": 30 * time.Second, "crm/list_users": 30 * time.Second,
		"files/list_users": 0, "crm/get_user": 0,
	} {
		server, tool, _ := strings.Cut(name, "/")
		if got := p.Lifetime(&middleware.Tool{Server: server, Definition: &mcp.Tool{Name: tool}}, 30*time.Second); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
