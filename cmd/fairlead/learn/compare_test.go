package learn_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

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
			covers := ""
			if c.rules == "allow" {
				covers = `, "class": "dangerous"`
			}
			p, err := policy.Parse("p.json", []byte(`{"rules": [{"tool": "crm/delete_thing", "decide": "`+c.rules+`"`+covers+`}], "arguments": {"crm/get_thing": {"when": {"a": ["b"]}, "class": "dangerous"}}}`))
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
