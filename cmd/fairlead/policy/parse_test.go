package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tailscale/hujson"
)

// whole has every key once.
const whole = `{
  "$schema": "policy.schema.json",
  "version": 1,
  // a comment, and a comma too many
  "trust": ["github"],
  "readOnly": false, "worstCase": true,
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
    "db/run": [{"argument": "q", "probe": "sql"}, {"when": {"force": [true]}, "class": "dangerous"}],
  },
  "probes": {"db/*": {"query": "sql"}, "*": {"shell": "off"}},
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
	if p.Rules[0].Line != 8 || p.Rules[0].Reason != "ask an owner" || len(p.Arguments) != 2 || len(p.Probes) != 2 || len(p.Scopes) != 2 || p.ReadOnly || !p.WorstCase {
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
		{"B191 a bad pattern", `{"rules": [{"tool": "delete_[", "decide": "deny"}]}`, `rules[0].tool: invalid pattern "delete_["`},
		{"B191 an empty part", `{"rules": [{"tool": "/x", "decide": "deny"}]}`, `"/x" names no tool`},
		{"B195 empty", "", "it says nothing"},
		{"B195 blank", " \n\t\n", "it says nothing"},
		{"B195 comments alone", "// nothing yet\n/* nor here */\n", "it says nothing"},
		{"no object", "[]", "want an object"},
		{"null", "null", "p.json:1: want an object"},
		{"a null", `{"rules": null}`, "rules: want a list"},
		{"no JSON", "{\n\"rules\": [}\n", "p.json:2: not valid JSON"},
		{"YAML", "rules:\n  - tool: x\n", "not valid JSON"},
		{"more behind it", "{} {}", "not valid JSON"},
		{"nested without end", "{\n\"rules\": " + strings.Repeat("[", 8_000_000), ":2: it is nested too deeply"},
		{"no UTF-8", "{\"lock\": \"\xff\"}", "not valid UTF-8"},
		{"B203 a time without a unit", `{"timeout": {"default": 30}}`, `timeout.default: want a time with its unit`},
		{"B203 nor as a text", `{"timeout": {"default": "30"}}`, `timeout.default: want a time with its unit, such as "30s", "1h30m", "1 day" or "2 weeks", got "30"`},
		{"no time at all", `{"timeout": {"default": "0s"}}`, "it has to be more than 0"},
		{"a negative time", `{"timeout": {"default": "-5s"}}`, "it has to be more than 0"},
		{"a number as a text", `{"retry": {"attempts": "3"}}`, "retry.attempts: want a whole number"},
		{"half a count", `{"retry": {"attempts": 1.5}}`, "want a whole number"},
		{"none at all", `{"retry": {"attempts": 0}}`, "it has to be at least 1"},
		{"a flag as a text", `{"readOnly": "yes"}`, "readOnly: want true or false"},
		{"an unknown decision", `{"rules": [{"tool": "a", "decide": "permit"}]}`, `want one of allow, ask, deny, got "permit"`},
		{"a rule without a decision", `{"rules": [{"tool": "a"}]}`, `it needs "tool" and "decide"`},
		{"a rule without a tool", `{"rules": [{"decide": "deny"}]}`, `it needs "tool" and "decide"`},
		{"an empty tool", `{"rules": [{"tool": "", "decide": "deny"}]}`, "it is empty"},
		{"an unknown class", `{"tools": [{"tool": "a", "class": "harmless"}]}`, `want one of safe, moderate, dangerous, got "harmless"`},
		{"an unknown approver", `{"approvals": {"by": ["email"]}}`, `approvals.by[0]: want one of elicit, web, terminal, deny, got "email"`},
		{"a burst by itself", `{"limits": {"burst": 3}}`, `"burst" belongs to "perMinute"`},
		{"an approval without an end", `{"approvals": {"approved": [{"tool": "a/b", "members": {"x": {"any": true}}}]}}`, "approvals.approved[0]: it needs"},
		{"an approval of many tools", `{"approvals": {"approved": [{"tool": "a/*", "members": {"x": {"any": true}}, "until": "2027-01-31"}]}}`, "it needs one \"tool\""},
		{"an approval of nothing", `{"approvals": {"approved": [{"tool": "a/b", "members": {}, "until": "2027-01-31"}]}}`, "names no member"},
		{"an approval without its arguments", `{"approvals": {"approved": [{"tool": "a/b", "until": "2027-01-31"}]}}`, "names no member"},
		{"a member that may be nothing", `{"approvals": {"approved": [{"tool": "a/b", "members": {"x": {}}, "until": "2027-01-31"}]}}`, "needs a value or a glob"},
		{"a member that may not be anything", `{"approvals": {"approved": [{"tool": "a/b", "members": {"x": {"any": false}}, "until": "2027-01-31"}]}}`, "needs a value or a glob"},
		{"a member that is two things", `{"approvals": {"approved": [{"tool": "a/b", "members": {"x": {"any": true, "like": "a"}}, "until": "2027-01-31"}]}}`, "needs a value or a glob"},
		{"an unknown offer", `{"approvals": {"offer": ["all"]}}`, `want one of arguments, members, tool, got "all"`},
		{"an approver twice", "{\"approvals\": {\n\"by\": [\"web\", \"web\"]}}", "p.json:2: approvals.by: web is named twice"},
		{"nobody and somebody", `{"approvals": {"by": ["deny", "web"]}}`, "approvals.by: deny asks nobody"},
		{"too small an answer", "{\"output\": {\n\"limit\": 3}}", "p.json:2: output.limit: it has to be at least 200"},
		{"a later version", `{"version": 2}`, "this Fairlead reads version 1"},
		{"an invalid scope", `{"scopes": ["*"]}`, "scopes[0]"},
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
		`{"approvals": {"by": ["email"]}}`, `{"output": {"limit": 1}}`, `{"tools": [{"class": "safe"}]}`, `{"readOnly": "yes"}`, `{"probes": {"a/b": {"sql": "perl"}}}`, `{"probes": {"a/b": "off"}}`, `{"probes": []}`, `{"lock": ""}`, `{"scopes": [{"upTo": "public"}]}`,
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
