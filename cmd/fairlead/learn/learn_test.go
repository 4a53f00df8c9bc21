package learn_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/learn"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

var day = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// wrote writes records to a file, one call a minute.
func wrote(t *testing.T, records ...audit.Record) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	file, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		r.Time, r.Run, r.N = day.Add(r.Took+time.Duration(i)*time.Minute), name, cmp.Or(r.N, int64(i+1))
		r.Kind = cmp.Or(r.Kind, audit.End)
		if err := file.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// forged is a file with a head that agrees with its lines, which hold the text.
func forged(t *testing.T, members string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	line := `{"seq":1,"prev":"","time":"2026-11-20T09:00:00Z",` + members + `}`
	sum := sha256.Sum256([]byte(line))
	point := `{"records":1,"hash":"` + hex.EncodeToString(sum[:]) + `"}`
	for name, text := range map[string]string{name: line + "\n", name + ".head": `{"written":` + point + `,"synced":` + point + `}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

func call(tool, class, arguments string, change ...func(*audit.Record)) audit.Record {
	r := audit.Record{Call: "7", Server: "crm", Tool: tool, Class: class, Outcome: audit.OK, Definition: "d1"}
	if arguments != "" {
		r.Arguments = json.RawMessage(arguments)
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func by(via, what string) func(*audit.Record) {
	return func(r *audit.Record) {
		r.Via, r.Decisions = via, append(r.Decisions, audit.Decision{Stage: "hitl", What: what})
		if what == "denied" {
			r.Outcome = audit.Denied
		}
	}
}

func times(n int, r audit.Record) (all []audit.Record) {
	for range n {
		all = append(all, r)
	}
	return all
}

func read(t *testing.T, files ...string) *learn.Record {
	t.Helper()
	r, err := learn.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// learnt returns the policy file of the records, which allows nothing.
func learnt(t *testing.T, records ...audit.Record) string {
	t.Helper()
	text, err := read(t, wrote(t, records...)).Policy(day)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("learnt.json", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, r := range p.Rules {
		if r.Verdict != policy.Deny {
			t.Errorf("it has a rule %s %s:\n%s", r.Verdict, r.Tool, text)
		}
	}
	if len(p.Approved)+len(p.Trust)+len(p.Tools)+len(p.Trusted)+len(p.FlowOff) > 0 || p.Arguments != nil {
		t.Errorf("it is less strict than no policy:\n%s", text)
	}
	return string(text)
}

const (
	allowLine = `// {"tool": "crm/delete_thing", "class": "dangerous", "decide": "allow"},`
	denyLine  = "\n    " + `{"tool": "crm/delete_thing", "decide": "deny", "reason": "People have denied it."},`
)

func TestOnlyWhatPeopleDecidedCounts(t *testing.T) {
	t.Parallel()
	deleted := func(change ...func(*audit.Record)) audit.Record {
		return call("delete_thing", "dangerous", `{"id":1}`, change...)
	}
	various := func(via, what string) (all []audit.Record) {
		for i := range 3 {
			all = append(all, call("delete_thing", "dangerous", fmt.Sprintf(`{"id":%d}`, i), by(via, what)))
		}
		return all
	}
	stranger := func(r *audit.Record) {
		r.Sources = []audit.Source{{Argument: "id", Tool: "web/fetch", Rule: "untrusted-value"}}
	}
	earlier := func(r *audit.Record) { r.Definition = "d0" }
	for name, c := range map[string]struct {
		records []audit.Record
		want    string
		lines   int // rules and proposals
	}{
		"observed a thousand times": {times(1000, deleted(func(r *audit.Record) {
			r.Decisions = []audit.Decision{{Stage: "observe", What: "passed", Why: "would: ask first"}}
		})), "1000 calls on 2 days, 2026-11-20 to 2026-11-21; no person decided", 0},
		"approved by a host without asking": {times(9, deleted(func(r *audit.Record) { r.By = "nobody" }, by("", "allowed"))), "no person decided", 0},
		"approved by a policy":              {times(9, deleted(by("policy", "allowed"))), "no person decided", 0},
		"covered by a remembered approval":  {times(9, deleted(by("remembered approval", "allowed"))), "no person decided", 0},
		"a question that is open":           {times(9, deleted(by("form", "pending"))), "no person decided", 0},
		"approved with an untrusted source": {times(9, deleted(by("form", "allowed"), stranger)), "no person decided", 0},
		"approved though it may have happened": {times(9, deleted(func(r *audit.Record) {
			r.Decisions = []audit.Decision{{Stage: "doubt", What: "repeated"}}
		}, by("form", "allowed"))), "no person decided", 0},
		"approved by a form":           {various("form", "allowed"), allowLine, 1},
		"approved on the page":         {various("page, by a link", "allowed"), allowLine, 1},
		"approved at the terminal":     {various("terminal", "allowed"), "people approved 3 and denied 0. For review, whatever its arguments:\n    " + allowLine, 1},
		"approved twice":               {various("form", "allowed")[:2], "not enough for a proposal", 0},
		"approved and denied":          {append(various("form", "allowed"), deleted(by("form", "denied"))), "approved 3 and denied 1; that is not enough", 0},
		"denied":                       {times(1, deleted(by("form", "denied"))), denyLine, 1},
		"denied by nobody":             {times(9, deleted(by("", "denied"))), "no person decided", 0},
		"approved before it changed":   {append(times(5, deleted(by("form", "allowed"), earlier)), deleted()), "approved 0 and denied 0 (and 5 of an earlier definition, which do not count); that is not enough", 0},
		"approved, and then it failed": {times(3, deleted(by("form", "allowed"), by("form", "denied"))), `{"id": {"is": 1}}`, 1},
		"on several days":              {append(times(1500, deleted()), various("form", "allowed")...), "1503 calls on 2 days, 2026-11-20 to 2026-11-21; people approved 3", 1},
		"safe":                         {times(1, call("get_thing", "safe", "")), "crm/get_thing (safe): 1 calls on 2026-11-20; it needs no rule.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := learnt(t, c.records...)
			if !strings.Contains(got, c.want) || strings.Count(got, `{"tool"`) != c.lines {
				t.Errorf("got\n%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestProposalsAreAsNarrowAsWhatWasApproved(t *testing.T) {
	t.Parallel()
	long := `{"a":"` + strings.Repeat("x", 200) + `","b":1}`
	for name, c := range map[string]struct {
		arguments []string
		want      string // the members, or "" for a rule over all arguments
	}{
		"a folder":                     {[]string{`{"path":"drafts/a","mode":1}`, `{"path":"drafts/b","mode":1}`, `{"mode":1,"path":"drafts/c"}`}, `{"mode": {"is": 1}, "path": {"like": "drafts/*"}}`},
		"a member of many":             {[]string{`{"a":"x","b":1}`, `{"a":"x","b":2}`, `{"a":"x","b":3}`}, `{"a": {"is": "x"}, "b": {"any": true}}`},
		"other folders and a constant": {[]string{`{"a":"x","path":"a/1"}`, `{"a":"x","path":"b/2"}`, `{"a":"x","path":"a/3"}`}, `{"a": {"is": "x"}, "path": {"any": true}}`},
		"nothing in common":            {[]string{`{"id":1}`, `{"id":2}`, `{"id":3}`}, ""},
		"other members":                {[]string{`{"id":1}`, `{"id":1,"force":true}`, `{"id":1}`}, ""},
		"a long text":                  {[]string{long, long, long}, `{"a": {"any": true}, "b": {"is": 1}}`},
		"no arguments":                 {[]string{"", "", ""}, ""},
		"other folders":                {[]string{`{"path":"a/x"}`, `{"path":"b/x"}`, `{"path":"a/y"}`}, ""},
		"out of the folder":            {[]string{`{"path":"a/x"}`, `{"path":"a/.."}`, `{"path":"a/y"}`}, ""},
		"a folder as a pattern":        {[]string{`{"path":"*/x"}`, `{"path":"*/y"}`, `{"path":"*/z"}`}, ""},
		"a secret":                     {[]string{`{"a":1,"key":"[redacted]"}`, `{"a":1,"key":"[redacted]"}`, `{"a":1,"key":"[redacted]"}`}, `{"a": {"is": 1}, "key": {"any": true}}`},
		"a hidden character":           {[]string{`{"a":"x` + "\u202e" + `y"}`, `{"a":"x` + "\u202e" + `y"}`, `{"a":"x` + "\u202e" + `y"}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls []audit.Record
			for _, arguments := range c.arguments {
				calls = append(calls, call("delete_thing", "dangerous", arguments, by("form", "allowed")))
			}
			got, want := learnt(t, calls...), allowLine
			if c.want != "" {
				want = `// {"tool": "crm/delete_thing", "class": "dangerous", "members": ` + c.want + `, "until": "2026-12-20"},`
			}
			if !strings.Contains(got, want) || strings.Count(got, `{"tool"`) != 1 {
				t.Errorf("got\n%s\nwant %s", got, want)
			}
			p, err := policy.Parse("reviewed.json", learn.Reviewed([]byte(got)))
			if err != nil || len(p.Rules)+len(p.Approved) != 1 {
				t.Errorf("reviewed: %+v, %v", p, err)
			}
		})
	}
}

// Names are those that servers chose: none names other tools, ends a comment or is another text than it shows.
func TestNamesAreTheServers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"*", "delete_?", "[a-z]*", `a\`, "a\n{\"tool\": \"b\", \"decide\": \"allow\"},", "a\u2028b", "x\u202ey", `{"tool": "*", "decide": "allow"},`} {
		for _, what := range []string{"allowed", "denied"} {
			got := learnt(t, times(3, call(name, "dangerous", `{"id":1}`, by("form", what)))...)
			p, err := policy.Parse("reviewed.json", learn.Reviewed([]byte(got)))
			if err != nil || len(p.Approved)+len(p.Rules) > 0 || !strings.Contains(got, "a rule cannot name this tool alone") {
				t.Errorf("%q: %v, got\n%s", name, err, got)
			}
		}
	}
}
