package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// whole has every key once.
const whole = `{
  "$schema": "policy.schema.json",
  "version": 1,
  // a comment, and a comma too many
  "trust": ["github"],
  "readOnly": false,
  "rules": [
    {"tool": "github/delete_*", "decide": "deny", "reason": "ask an owner"},
    {"tool": "github/create_issue", "decide": "allow"},
    {"tool": "files/*", "decide": "ask"},
  ],
  "tools": [
    {"tool": "github/search", "class": "safe", "openWorld": true},
    {"tool": "crm/set_*", "class": "moderate", "idempotent": true, "auditRequired": true, "securityLevel": "restricted", "usually": "2s"},
  ],
  "arguments": {
    "github/issue_write": {"when": {"method": ["get", "list"]}, "class": "safe"},
  },
  "permissions": [{"tool": "crm/*", "permission": "customers.read"}],
  "scopes": ["customers.*", {"permission": "*.read", "upTo": "restricted"}],
  "approvals": {"by": ["elicit", "web"], "timeout": "2m", "remember": "session", "always": "2 weeks", "writes": true, "maxPending": 20, "offer": ["members"],
    "approved": [{"tool": "files/write_file", "members": {"path": {"like": "drafts/*"}, "content": {"any": true}, "mode": {"is": 1}}, "until": "2027-01-31"}]},
  "limits": {"perMinute": 600, "burst": 50, "maxWait": "10s", "servers": {"github": {"perMinute": 30, "burst": 5}}},
  "timeout": {"default": "90s", "cap": "5m"},
  "retry": {"attempts": 2},
  "cache": {"files/*": "off", "docs/*": "10m", "docs/search": "on", "list_users": "on"},
  "budget": {"calls": 100, "cost": 2.5, "time": "1h", "idle": "30m", "repeats": 5, "pause": "10s"},
  "output": {"limit": 5000},
  "lock": "fairlead.lock.json",
  "audit": "calls.jsonl",
}`

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("p.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEverythingThatAPolicyCanSay(t *testing.T) {
	t.Parallel()
	p := parse(t, whole)
	if len(p.Warnings) > 0 {
		t.Error(p.Warnings)
	}
	if p.Approvals.Timeout != 2*time.Minute || p.Approvals.Remember != hitl.Session || !p.Approvals.Writes || p.Approvals.MaxPending != 20 || !p.Approvals.OfferMembers || p.Approvals.OfferTool ||
		len(p.Approved) != 1 || len(p.Approved[0].Members) != 3 {
		t.Errorf("approvals: %+v", p.Approvals)
	}
	if p.Limits.PerMinute != 600 || p.Limits.Servers["github"].Burst != 5 || p.Limits.MaxWait != 10*time.Second {
		t.Errorf("limits: %+v", p.Limits)
	}
	if p.Budget.Session.Calls != 100 || p.Budget.Session.Cost != 2.5 || p.Budget.Repeats != 5 || len(p.Cache) != 4 || p.Retry.Attempts != 2 {
		t.Errorf("%+v", p)
	}
	if a := p.Tools[1].Annotations; a.Safety() != annotation.Moderate || a.SecurityLevel != annotation.Restricted || a.AuditRequired != annotation.Yes {
		t.Errorf("%+v", a)
	}
	if p.Rules[0].Line != 8 || p.Rules[0].Reason != "ask an owner" || len(p.Arguments) != 1 || len(p.Scopes) != 2 {
		t.Errorf("%+v", p)
	}
}

func TestFaultsAreNamedWithLineAndKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"B185 an unknown key", "{\n\"approvel\": \"required\"}", `p.json:2: approvel: the key is unknown; did you mean "approvals"?`},
		{"an unknown key further in", "{\"rules\": [\n{\"tool\": \"a\", \"decide\": \"deny\", \"reson\": \"x\"}]}", `p.json:2: rules[0].reson: the key is unknown; did you mean "reason"?`},
		{"a key that is like none", `{"zzzzzzzz": 1}`, "known are $schema, approvals"},
		{"a key in another case", `{"Rules": []}`, `did you mean "rules"?`},
		{"B187 a key twice", "{\"rules\": [],\n\"rules\": []}", "p.json:2: rules: it is given twice"},
		{"B187 twice, escaped", `{"rules": [], "\u0072ules": []}`, "rules: it is given twice"},
		{"B187 a server twice", `{"limits": {"servers": {"a": {"perMinute": 1}, "a": {"perMinute": 2}}}}`, "limits.servers.a: it is given twice"},
		{"B191 a bad pattern", `{"rules": [{"tool": "delete_[", "decide": "deny"}]}`, `rules[0].tool: "delete_[" is no pattern`},
		{"B191 an empty part", `{"rules": [{"tool": "/x", "decide": "deny"}]}`, `"/x" names no tool`},
		{"B195 empty", "", "it says nothing"},
		{"B195 blank", " \n\t\n", "it says nothing"},
		{"B195 comments alone", "// nothing yet\n/* nor here */\n", "it says nothing"},
		{"no object", "[]", "it has to be an object"},
		{"null", "null", "p.json:1: it"},
		{"a null", `{"rules": null}`, "rules: it has to be a list"},
		{"no JSON", "{\n\"rules\": [}\n", "p.json:2: it is no JSON"},
		{"YAML", "rules:\n  - tool: x\n", "it is no JSON"},
		{"more behind it", "{} {}", "it is no JSON"},
		{"nested without end", "{\n\"rules\": " + strings.Repeat("[", 8_000_000), ":2: it is nested too deeply"},
		{"no UTF-8", "{\"lock\": \"\xff\"}", "no UTF-8"},
		{"B203 a time without a unit", `{"timeout": {"default": 30}}`, `timeout.default: it has to be a time with its unit`},
		{"B203 nor as a text", `{"timeout": {"default": "30"}}`, `timeout.default: "30" is no time`},
		{"no time at all", `{"timeout": {"default": "0s"}}`, "it has to be more than 0"},
		{"a negative time", `{"timeout": {"default": "-5s"}}`, "it has to be more than 0"},
		{"a number as a text", `{"retry": {"attempts": "3"}}`, "retry.attempts: it has to be a whole number"},
		{"half a count", `{"retry": {"attempts": 1.5}}`, "it has to be a whole number"},
		{"none at all", `{"retry": {"attempts": 0}}`, "it has to be at least 1"},
		{"a flag as a text", `{"readOnly": "yes"}`, "readOnly: it has to be true or false"},
		{"an unknown decision", `{"rules": [{"tool": "a", "decide": "permit"}]}`, `"permit" is none of allow, ask, deny`},
		{"a rule without a decision", `{"rules": [{"tool": "a"}]}`, `it needs "tool" and "decide"`},
		{"a rule without a tool", `{"rules": [{"decide": "deny"}]}`, `it needs "tool" and "decide"`},
		{"an empty tool", `{"rules": [{"tool": "", "decide": "deny"}]}`, "it is empty"},
		{"an unknown class", `{"tools": [{"tool": "a", "class": "harmless"}]}`, `"harmless" is none of safe, moderate, dangerous`},
		{"an unknown approver", `{"approvals": {"by": ["email"]}}`, `approvals.by[0]: "email" is none of elicit, web, terminal, deny`},
		{"a burst by itself", `{"limits": {"burst": 3}}`, `"burst" belongs to "perMinute"`},
		{"an approval without an end", `{"approvals": {"approved": [{"tool": "a/b", "members": {"x": {"any": true}}}]}}`, "approvals.approved[0]: it needs"},
		{"an approval of many tools", `{"approvals": {"approved": [{"tool": "a/*", "members": {"x": {"any": true}}, "until": "2027-01-31"}]}}`, "it needs one \"tool\""},
		{"an approval of nothing", `{"approvals": {"approved": [{"tool": "a/b", "members": {}, "until": "2027-01-31"}]}}`, "names no member"},
		{"an approval without its arguments", `{"approvals": {"approved": [{"tool": "a/b", "until": "2027-01-31"}]}}`, "names no member"},
		{"a member that may be nothing", `{"approvals": {"approved": [{"tool": "a/b", "members": {"x": {}}, "until": "2027-01-31"}]}}`, "needs a value or a glob"},
		{"a member that may not be anything", `{"approvals": {"approved": [{"tool": "a/b", "members": {"x": {"any": false}}, "until": "2027-01-31"}]}}`, "needs a value or a glob"},
		{"a member that is two things", `{"approvals": {"approved": [{"tool": "a/b", "members": {"x": {"any": true, "like": "a"}}, "until": "2027-01-31"}]}}`, "needs a value or a glob"},
		{"an offer that is none", `{"approvals": {"offer": ["all"]}}`, `"all" is none of arguments, members, tool`},
		{"an approver twice", "{\"approvals\": {\n\"by\": [\"web\", \"web\"]}}", "p.json:2: approvals.by: web is named twice"},
		{"nobody and somebody", `{"approvals": {"by": ["deny", "web"]}}`, "approvals.by: deny asks nobody"},
		{"too small an answer", "{\"output\": {\n\"limit\": 3}}", "p.json:2: output.limit: it has to be at least 200"},
		{"a later version", `{"version": 2}`, "this Fairlead reads version 1"},
		{"a scope that is none", `{"scopes": ["*"]}`, "scopes[0]"},
		{"a permission that is a wildcard", `{"permissions": [{"tool": "a", "permission": "*.read"}]}`, `it needs "tool", and a "permission"`},
		{"too much of a loop", "{\"budget\": {\n\"repeats\": 1000}}", "p.json:2: budget.repeats: it may be 100 at most"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := policy.Parse("p.json", []byte(c.text))
			if err == nil || p != nil {
				t.Fatalf("got %v, %v, want an error alone", p, err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q in it", err, c.want)
			}
			if _, ok := errors.AsType[*policy.Error](err); !ok {
				t.Errorf("%T is no *policy.Error", err)
			}
		})
	}
}

// A rule over arguments that is not understood allows nothing.
func TestFaultsOfRulesOverArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"an unknown member", "{\"a/b\": {\"when\": {\"m\": [\"x\"]},\n\"klass\": \"safe\"}}", `p.json:3: arguments.a/b.klass: the key is unknown`},
		{"a class in another case", `{"a/b": {"when": {"m": ["x"]}, "class": "Safe"}}`, `arguments.a/b.class: "Safe" is none of safe, moderate, dangerous`},
		{"a class that is a number", `{"a/b": {"when": {"m": ["x"]}, "class": 1}}`, "class: it has to be a text"},
		{"a tool twice", `{"a/b": {"when": {"m": ["x"]}, "class": "safe"}, "a/b": {}}`, "arguments.a/b: it is given twice"},
		{"a member twice by an escape", `{"a/b": {"class": "dangerous", "cl\u0061ss": "safe", "when": {"m": ["x"]}}}`, "class: it is given twice"},
		{"an argument twice", `{"a/b": {"class": "safe", "when": {"m": ["x"], "m": ["y"]}}}`, "when.m: it is given twice"},
		{"no class", `{"a/b": {"when": {"m": ["x"]}}}`, `it needs "when", with at least one argument, and "class"`},
		{"no condition", `{"a/b": {"class": "safe"}}`, `it needs "when", with at least one argument, and "class"`},
		{"an empty condition", `{"a/b": {"class": "safe", "when": {}}}`, `it needs "when", with at least one argument, and "class"`},
		{"a condition that is a list", `{"a/b": {"class": "safe", "when": []}}`, "when: it has to be an object"},
		{"a value that is no list", `{"a/b": {"class": "safe", "when": {"m": "x"}}}`, "when.m: it has to be a list"},
		{"no values", `{"a/b": {"class": "safe", "when": {"m": []}}}`, "when.m: it needs the name of an argument, and at least one value"},
		{"a number as a value", `{"a/b": {"class": "safe", "when": {"m": ["x", 1]}}}`, "when.m[1]: it has to be a text, true or false"},
		{"null as a value", `{"a/b": {"class": "safe", "when": {"m": [null]}}}`, "when.m[0]: it has to be a text, true or false"},
		{"a list as a value", `{"a/b": {"class": "safe", "when": {"m": [["x"]]}}}`, "when.m[0]: it has to be a text, true or false"},
		{"an argument without a name", `{"a/b": {"class": "safe", "when": {"": ["x"]}}}`, "it needs the name of an argument"},
		{"an empty list of rules", `{"a/b": []}`, "arguments.a/b: it needs a rule"},
		{"a rule that is a text", `{"a/b": "safe"}`, "arguments.a/b: it has to be an object"},
		{"a list in a list", `{"a/b": [[]]}`, "arguments.a/b[0]: it has to be an object"},
		{"a pattern", `{"a/*": {"class": "safe", "when": {"m": ["x"]}}}`, "arguments.a/*: it names no tool"},
		{"no server", `{"b": {"class": "safe", "when": {"m": ["x"]}}}`, "arguments.b: it names no tool"},
		{"a list", `[]`, "arguments: it has to be an object"},
	} {
		p, err := policy.Parse("p.json", []byte("{\n\"arguments\": "+c.text+"}"))
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want %q", c.name, p, err, c.want)
		}
	}
}

func TestRulesOverArguments(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"arguments": {
		"github/issue_write": {"when": {"method": ["get", "list"]}, "class": "safe"},
		"files/act": [
			{"when": {"dry_run": [true]}, "class": "safe"},
			{"class": "moderate", "when": {"mode": ["add"], "deep": [false]}},
			{"when": {"mode": ["mirror"]}, "class": "dangerous"},
		]}}`)
	if len(p.Arguments) != 2 {
		t.Errorf("rules for %d tools, want 2", len(p.Arguments))
	}
	tool, err := middleware.NewTool("files", &mcp.Tool{Name: "act"}, annotation.Destructive())
	if err != nil {
		t.Fatal(err)
	}
	var got annotation.Safety
	caller := preflight.New(preflight.Options{Rules: p.Arguments})(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		got = call.Tool.Safety()
		return &mcp.CallToolResult{}, nil
	}))
	for arguments, want := range map[string]annotation.Safety{
		`{"dry_run":true}`:                 annotation.Safe,
		`{"dry_run":false}`:                annotation.Dangerous,
		`{"mode":"add","deep":false}`:      annotation.Moderate,
		`{"mode":"add"}`:                   annotation.Dangerous,
		`{"mode":"mirror"}`:                annotation.Dangerous,
		`{"mode":"mirror","dry_run":true}`: annotation.Dangerous,
	} {
		if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)}); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", arguments, got, err, want)
		}
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := policy.Parse("p.json", []byte("{\n\"lokc\": \"a\",\n\"readOnly\": 1,\n\"rules\": [{\"tool\": \"[\"}]}"))
	for _, want := range []string{"p.json:2: lokc", "p.json:3: readOnly", "p.json:4: rules[0].tool"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestB205TooManyRulesAreRefusedWhole(t *testing.T) {
	t.Parallel()
	text := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"tool": "srv/tool_%d", "decide": "ask"},`, i)
		}
		return `{"rules": [` + b.String() + `{"tool": "srv/last", "decide": "deny"}]}`
	}
	if _, err := policy.Parse("p.json", []byte(text(10_000))); err == nil || !strings.Contains(err.Error(), "it has 10001 entries, more than 10000") {
		t.Errorf("got %v", err)
	}
	p := parse(t, text(9_999))
	if v, _ := p.Decide("srv", "last", annotation.Safe); v != policy.Deny {
		t.Errorf("the last of 10,000 rules does not count: %v", v)
	}
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
		{"B193 by its exact name", rules(rule("evil/readAndDelete", "allow")), "evil", "readAndDelete", annotation.Dangerous, policy.Allow},
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

func TestB201UnreachableRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rules [][2]string
		want  []string // the lines
	}{
		{"an earlier deny", [][2]string{{"srv/*", "deny"}, {"srv/list_x", "allow"}}, []string{"p.json:3"}},
		{"a later one, since the order does not count", [][2]string{{"srv/list_x", "allow"}, {"srv/*", "deny"}}, []string{"p.json:2"}},
		{"a pattern within a pattern", [][2]string{{"*", "deny"}, {"srv/list_*", "ask"}}, []string{"p.json:3"}},
		{"the same twice", [][2]string{{"srv/a", "ask"}, {"srv/a", "ask"}}, []string{"p.json:3"}},
		{"a name beside a pattern", [][2]string{{"srv/*", "allow"}, {"srv/delete_x", "allow"}}, nil},
		{"part of it is left", [][2]string{{"srv/list_*", "deny"}, {"srv/*", "allow"}}, nil},
		{"another server", [][2]string{{"a/*", "deny"}, {"b/*", "allow"}}, nil},
		{"a question mark covers no star", [][2]string{{"srv/?", "deny"}, {"srv/*", "allow"}}, nil},
		{"a class that leaves one out covers no question mark", [][2]string{{"srv/[^x]", "deny"}, {"srv/?", "ask"}}, nil},
		{"nor does a range cover a star", [][2]string{{"srv/[^a-z]*", "deny"}, {"srv/?*", "ask"}}, nil},
		{"a class covers a name", [][2]string{{"srv/[^x]", "deny"}, {"srv/y", "ask"}}, []string{"p.json:3"}},
		{"a milder one covers nothing", [][2]string{{"*", "allow"}, {"srv/x", "deny"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := "{\"rules\": [\n"
			for _, r := range c.rules {
				text += fmt.Sprintf("{\"tool\": %q, \"decide\": %q},\n", r[0], r[1])
			}
			p := parse(t, text+"]}")
			if len(p.Warnings) != len(c.want) {
				t.Fatalf("got %q, want lines %v", p.Warnings, c.want)
			}
			for i, w := range p.Warnings {
				if !strings.HasPrefix(w, c.want[i]+": unreachable rule") {
					t.Errorf("got %q, want line %s", w, c.want[i])
				}
			}
		})
	}
}

func tool(t testing.TB, server, name string, a annotation.Annotations) *middleware.Tool {
	t.Helper()
	tool, err := middleware.NewTool(server, &mcp.Tool{Name: name}, a)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// What a policy raises is raised whatever a catalogue's patterns make of a name.
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
	p := parse(t, "{\"rules\": [\n{\"tool\": \"s/delete_a\", \"decide\": \"allow\"}]}")
	var person hitl.Confirmer
	for _, c := range []struct {
		name string
		want hitl.Verdict
	}{{"delete_a", hitl.Approved}, {"delete_b", hitl.Denied}} {
		got, err := p.Confirmer(person).Confirm(t.Context(), hitl.Request{Tool: tool(t, "s", c.name, annotation.Destructive())})
		if got.Verdict != c.want || (err == nil) != (c.want == hitl.Approved) {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
		if c.want == hitl.Approved && got.By != "the policy, p.json:2" {
			t.Errorf("by %q", got.By)
		}
	}
	again := hitl.Request{Tool: tool(t, "s", "delete_a", annotation.Destructive()), InDoubt: time.Now()}
	if got, err := p.Confirmer(person).Confirm(t.Context(), again); got.Verdict == hitl.Approved || err == nil {
		t.Errorf("a call that may have happened was approved by the policy: %v, %v", got, err)
	}
}

func TestPolicyAllowsNoUntrustedSource(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"rules": [{"tool": "s/delete_a", "decide": "allow"}], "flow": {"trusted": ["s/*"], "off": ["instructed"]}}`)
	r := hitl.Request{Tool: tool(t, "s", "delete_a", annotation.Destructive()), Sources: []hitl.Source{{From: "user"}, {From: "result", Rule: "untrusted-value"}}}
	if got, err := p.Confirmer(nil).Confirm(t.Context(), r); got.Verdict != hitl.Denied || err == nil {
		t.Errorf("got %v, %v", got, err)
	}
	if !p.TrustsResults(r.Tool) || p.TrustsResults(tool(t, "t", "delete_a", annotation.Destructive())) || len(p.FlowOff) != 1 {
		t.Errorf("got trusted %v, off %v", p.Trusted, p.FlowOff)
	}
}

// The schema takes what the reader takes, and refuses what it refuses, as far as a
// schema can know.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	t.Parallel()
	schema := new(jsonschema.Schema)
	if err := json.Unmarshal(policy.Schema, schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		plain, err := hujson.Standardize([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(plain, &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v)
	}
	if err := valid(whole); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		`[]`, `{"rulez": []}`, `{"timeout": {"default": 30}}`, `{"timeout": {"default": "30"}}`, `{"rules": [{"tool": "a"}]}`,
		`{"rules": [{"tool": "a", "decide": "permit"}]}`, `{"retry": {"attempts": 0}}`, `{"limits": {"burst": 1}}`, `{"version": 2}`,
		`{"approvals": {"by": ["email"]}}`, `{"output": {"limit": 1}}`, `{"tools": [{"class": "safe"}]}`, `{"readOnly": "yes"}`, `{"lock": ""}`, `{"scopes": [{"upTo": "public"}]}`,
	} {
		if valid(text) == nil {
			t.Errorf("the schema takes %s", text)
		}
		if _, err := policy.Parse("p.json", []byte(text)); err == nil {
			t.Errorf("the reader takes %s", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{whole, "{}", "", "{\"rules\": [{\"tool\": \"[\"}]}", `{"arguments": {"a/b": []}}`, `{"arguments": {"a/b": {"when": {"m": ["x", true]}, "class": "safe"}}}`, "{\"a\": /* x */ [1,],}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Parse("p.json", text)
		if (p == nil) == (err == nil) {
			t.Fatalf("got %v, %v", p, err)
		}
		if p != nil {
			p.Decide("server", "tool", annotation.Unknown)
			preflight.New(preflight.Options{Rules: p.Arguments}) // what is read is a rule, or New panics
		}
	})
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
