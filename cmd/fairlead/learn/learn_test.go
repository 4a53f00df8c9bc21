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
	allowLine = `// {"tool": "crm/delete_thing", "decide": "allow"},`
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
				want = `// {"tool": "crm/delete_thing", "members": ` + c.want + `, "until": "2026-12-20"},`
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

// An intent has the arguments and the definition of its end.
func TestIntentsBelongToTheirEnds(t *testing.T) {
	t.Parallel()
	var records []audit.Record
	for n := range int64(3) {
		begun := call("delete_thing", "dangerous", `{"id":1}`, by("form", "allowed"), func(r *audit.Record) { r.Kind, r.N, r.Outcome = audit.Intent, n+1, "" })
		records = append(records, begun, call("delete_thing", "dangerous", "", by("form", "allowed"), func(r *audit.Record) { r.N, r.Definition = n+1, "" }))
	}
	if got := learnt(t, records...); !strings.Contains(got, `"members": {"id": {"is": 1}}`) {
		t.Errorf("got\n%s", got)
	}
	records[4].Definition = "d2"
	if got := learnt(t, records...); !strings.Contains(got, "approved 1 and denied 0 (and 2 of an earlier definition") {
		t.Errorf("got\n%s", got)
	}
}

// What counts is when a call was made, and not in which order files are named.
func TestFilesAreInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	later := func(r *audit.Record) { r.Took, r.Definition = time.Hour, "d2" }
	first := wrote(t, times(4, call("delete_thing", "dangerous", `{"id":1}`, by("form", "allowed")))...)
	last := wrote(t, times(3, call("delete_thing", "dangerous", `{"id":1}`, by("form", "allowed"), later))...)
	for _, files := range [][]string{{first, last}, {last, first}} {
		text, err := read(t, files...).Policy(day)
		if err != nil || !strings.Contains(string(text), "people approved 3 and denied 0 (and 4 of an earlier definition") {
			t.Errorf("%v: got\n%s", err, text)
		}
	}
}

func TestServersAreApart(t *testing.T) {
	t.Parallel()
	other := func(r *audit.Record) { r.Server = "files" }
	got := learnt(t, append(times(3, call("send", "dangerous", `{"to":"a"}`, by("form", "allowed"))), call("send", "dangerous", "", by("form", "denied"), other))...)
	for _, want := range []string{`// {"tool": "crm/send", "members": {"to": {"is": "a"}}`, "\n    " + `{"tool": "files/send", "decide": "deny"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
}

func TestRecordsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	good := wrote(t, times(3, call("delete_thing", "dangerous", "", by("form", "allowed")))...)
	edited := func(change func(string) string) string {
		name := wrote(t, times(3, call("delete_thing", "dangerous", "", by("form", "denied")))...)
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, c := range map[string]struct{ file, want string }{
		"changed":           {edited(func(s string) string { return strings.Replace(s, `"denied"`, `"allowed"`, 1) }), "damaged"},
		"cut":               {edited(func(s string) string { return s[:strings.LastIndex(strings.TrimSpace(s), "\n")+1] }), "damaged"},
		"missing":           {good + "x", "no such file"},
		"of another class":  {forged(t, `"kind":"end","run":"r","n":1,"tool":"t","class":"colossal"`), `line 1: annotation: "colossal" is none of`},
		"of another kind":   {forged(t, `"kind":"pause","run":"r","n":1,"tool":"t"`), `line 1: a record of the kind "pause" is unknown; another version`},
		"with another word": {forged(t, `"kind":"end","run":"r","n":1,"tool":"t","class":"safe","mood":"good"`), `unknown field "mood"; another version`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := learn.Read([]string{good, c.file}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := read(t, wrote(t)).Policy(day); err == nil {
		t.Error("no error about a record without calls")
	}
}

func TestNotesSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	refused := func(by string) func(*audit.Record) {
		return func(r *audit.Record) {
			r.Outcome, r.Decisions = audit.Refused, []audit.Decision{{Stage: by, What: "refused"}}
		}
	}
	name := wrote(t,
		call("delete_thing", "", `{"id":1}`),
		call("delete_thing", "dangerous", ""),
		call("delete_thing", "dangerous", `"70000 bytes"`),
		call("get_thing", "safe", ""),
		call("invented", "unknown", "", refused("proxy")),
		call("delete_thing", "dangerous", `{"id":1}`, refused("policy.json:3")),
		call("delete_thing", "dangerous", `{"id":1}`, func(r *audit.Record) { r.Kind = audit.Intent }),
	)
	got := strings.Join(read(t, name, name).Notes(), "\n")
	want := `1 calls have no class, and count as unknown
2 calls have no arguments, so that rules over arguments and remembered approvals cannot match
1 calls were refused by a policy, whose rules are not learnt
1 calls have no end, and are left out
1 calls named a tool that was not listed, and are left out`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	observed := func(would string) func(*audit.Record) {
		return func(r *audit.Record) {
			r.Decisions = []audit.Decision{{Stage: "observe", What: "passed", Why: "would: " + would}}
		}
	}
	refused := func(by string) func(*audit.Record) {
		return func(r *audit.Record) {
			r.Outcome, r.Decisions = audit.Refused, []audit.Decision{{Stage: by, What: "refused"}}
		}
	}
	for name, c := range map[string]struct {
		call             audit.Record
		rules            string
		row              string // without the name and the count
		loosened, broken int
	}{
		"asked, and allowed":             {call("delete_thing", "dangerous", "", by("form", "allowed")), "allow", "1 → 0 0 0 → 1 1 asked → allowed (call 7 of 2026-11-20T09:00:00Z)", 1, 0},
		"asked, and denied":              {call("delete_thing", "dangerous", "", by("form", "denied")), "deny", "1 → 0 0 → 1 0 1 asked → refused (call 7 of 2026-11-20T09:00:00Z)", 0, 0},
		"asked, allowed, and refused":    {call("delete_thing", "dangerous", "", by("form", "allowed")), "deny", "1 → 0 0 → 1 0 1 asked → refused (call 7 of 2026-11-20T09:00:00Z)", 0, 1},
		"as before":                      {call("delete_thing", "dangerous", "", by("form", "allowed")), "ask", "1 0 0", 0, 0},
		"remembered counts as asked":     {call("delete_thing", "dangerous", "", by("remembered approval", "allowed")), "ask", "1 0 0", 0, 0},
		"by a policy":                    {call("delete_thing", "dangerous", "", by("policy", "allowed")), "ask", "0 → 1 0 1 → 0 1 allowed → asked (call 7 of 2026-11-20T09:00:00Z)", 0, 0},
		"observed, and allowed":          {call("delete_thing", "dangerous", "", observed("ask first · never cache")), "allow", "1 → 0 0 0 → 1 1 asked → allowed (call 7 of 2026-11-20T09:00:00Z)", 1, 0},
		"observed, and refused":          {call("delete_thing", "dangerous", "", observed("ask first")), "deny", "1 → 0 0 → 1 0 1 asked → refused (call 7 of 2026-11-20T09:00:00Z)", 0, 1},
		"observed with nobody to ask":    {call("delete_thing", "dangerous", "", observed("refuse, nobody can be asked")), "ask", "0 → 1 1 → 0 0 1 refused → asked (call 7 of 2026-11-20T09:00:00Z)", 0, 0},
		"observed as it runs":            {call("get_thing", "safe", "", observed("run · retry")), "ask", "0 0 1", 0, 0},
		"refused by a policy, and asked": {call("delete_thing", "dangerous", "", refused("p.json:3")), "ask", "0 → 1 1 → 0 0 1 refused → asked (call 7 of 2026-11-20T09:00:00Z)", 0, 0},
		"refused by a policy, allowed":   {call("delete_thing", "dangerous", "", refused("read-only")), "allow", "0 1 → 0 0 → 1 1 refused → allowed (call 7 of 2026-11-20T09:00:00Z)", 1, 0},
		"refused by a limit":             {call("delete_thing", "dangerous", "", refused("ratelimit")), "allow", "left out", 0, 0},
		"a question that is open":        {call("delete_thing", "dangerous", "", by("form", "pending")), "allow", "left out", 0, 0},
		"not sent":                       {call("get_thing", "safe", "", func(r *audit.Record) { r.Outcome = audit.NotSent }), "deny", "left out", 0, 0},
		"a terminal's characters":        {call("delete_thing", "dangerous", "", by("form", "allowed"), func(r *audit.Record) { r.Call = "\x1b[2J" }), "allow", `\x1b`, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := policy.Parse("p.json", []byte(`{"rules": [{"tool": "crm/delete_thing", "decide": "`+c.rules+`"}], "arguments": {"crm/get_thing": {"when": {"a": ["b"]}, "class": "dangerous"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(t, wrote(t, c.call)).Compare(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := got.Write(&out); err != nil {
				t.Fatal(err)
			}
			table := strings.Join(strings.Fields(out.String()), " ")
			if !strings.Contains(table, c.row) || got.Loosened != c.loosened || got.Broken != c.broken || strings.Contains(out.String(), "\x1b") {
				t.Errorf("got %d loosened, %d broken and %s", got.Loosened, got.Broken, table)
			}
			if blind := strings.Contains(table, "1 calls were tested without their arguments"); blind != strings.Contains(name, "runs") {
				t.Errorf("tested without arguments: %t", blind)
			}
		})
	}
}
