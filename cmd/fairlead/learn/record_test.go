package learn_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/learn"
)

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
	for _, want := range []string{`// {"tool": "crm/send", "class": "dangerous", "members": {"to": {"is": "a"}}`, "\n    " + `{"tool": "files/send", "decide": "deny"`} {
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
		"of another class":  {forged(t, `"kind":"end","run":"r","n":1,"tool":"t","class":"colossal"`), `line 1: annotation: want safe, moderate, dangerous or unknown, got "colossal"`},
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
