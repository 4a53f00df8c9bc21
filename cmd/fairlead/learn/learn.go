// Package learn makes a policy file of recorded calls, and reports what a policy changes about them.
package learn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// least is how many approvals make a proposal, as many as make the dialogs suggest one.
const least = 3

// lifetime is how long a proposed remembered approval counts.
const lifetime = 30 * 24 * time.Hour

// people are the ways on which the proxy and the command reach a person.
var people = []string{"form", "page, by a link", "terminal"}

// verdict returns what a person decided about a call: "allowed", "denied", or "" if none did. Neither a rule nor a
// remembered approval is a decision. One about a call in doubt, or with an untrusted source, is for that call alone.
func verdict(r audit.Record) (what string) {
	if !slices.Contains(people, r.Via) || slices.ContainsFunc(r.Sources, func(s audit.Source) bool { return s.Rule != "" }) {
		return ""
	}
	for _, d := range r.Decisions {
		switch {
		case proxy.Repeated(d):
			return ""
		case d.Stage == "hitl" && (d.What == "allowed" || d.What == "denied" && what == ""):
			what = d.What
		}
	}
	return what
}

// A tool is what was recorded of one. Its approved calls are those of its present definition.
type tool struct {
	server, name     string
	class            annotation.Safety // the strictest
	definition       string            // the last
	calls            int
	approved, denied []audit.Record
	earlier          int // approvals of an earlier definition
	days             []string
}

// covered returns the member of an entry that names the class that people approved, "" if it needs none. When the tool
// becomes stricter than that, they are asked again.
func (t *tool) covered() string {
	if t.class == annotation.Dangerous {
		return `"class": "dangerous", `
	}
	return ""
}

// tools returns the tools of the calls, in the order of their names. It goes through the calls from the last to the
// first, so that the last definition is known before an approval of an earlier one is met.
func (r *Record) tools() []*tool {
	all := make(map[[2]string]*tool)
	for _, c := range slices.Backward(r.calls) {
		key := [2]string{c.Server, c.Tool}
		var class annotation.Safety
		_ = class.UnmarshalText([]byte(c.Class)) // it was checked when it was read
		t := all[key]
		if t == nil {
			t = &tool{server: c.Server, name: c.Tool, class: class}
			all[key] = t
		}
		t.calls++
		t.class, t.definition = min(t.class, class), cmp.Or(t.definition, c.Definition)
		if day := c.Time.UTC().Format(time.DateOnly); !slices.Contains(t.days, day) {
			t.days = append(t.days, day)
		}
		switch what := verdict(c); {
		case what == "denied":
			t.denied = append(t.denied, c)
		case what == "allowed" && c.Definition != t.definition:
			t.earlier++
		case what == "allowed":
			t.approved = append(t.approved, c)
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *tool) int { return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.name, b.name)) })
}

// String is the tool's name, safe in a comment.
func (t *tool) String() string { return safetext.Line(t.server + "/" + t.name) }

// pattern returns the pattern that names this tool alone; its name may be one that names others.
func (t *tool) pattern() (string, bool) {
	p, err := policy.ParsePattern(t.server + "/" + t.name)
	return quoted(p.String()), err == nil && p.Exact() && p.Server == t.server && p.Tool == t.name && p.String() == t.String()
}

func (t *tool) when() string {
	if len(t.days) == 1 {
		return "on " + t.days[0]
	}
	return fmt.Sprintf("on %d days, %s to %s", len(t.days), slices.Min(t.days), slices.Max(t.days))
}

func quoted(s string) string {
	text, _ := json.Marshal(s) //nolint:errchkjson // a string can be written
	return string(text)
}

// members returns what the members of the approved calls were, nil if they are not known, or had no more in
// common than their names. It covers each of the calls.
func (t *tool) members() (common hitl.Pattern) {
	values := make(map[string][]json.RawMessage)
	for _, c := range t.approved {
		var members map[string]json.RawMessage
		if json.Unmarshal(proxy.Arguments(c), &members) != nil {
			return nil
		}
		for name, value := range members {
			values[name] = append(values[name], value)
		}
	}
	narrow := false
	for _, name := range slices.Sorted(maps.Keys(values)) {
		m := inCommon(name, values[name])
		narrow = narrow || !m.Any
		common = append(common, m)
	}
	readable := written(common) == safetext.Line(written(common))
	if !narrow || !readable || slices.ContainsFunc(t.approved, func(c audit.Record) bool { return !common.Covers(c.Arguments) }) {
		return nil
	}
	return common
}

// longest is how long a value in a proposal may be.
const longest = 100

// inCommon returns what the values of a member have in common: all of it, the folder of a path, or nothing. A value that
// is long, or from which a secret was removed, counts as nothing in common.
func inCommon(name string, values []json.RawMessage) approvals.Member {
	first := values[0]
	same := func(as func(json.RawMessage) string) bool {
		return !slices.ContainsFunc(values, func(v json.RawMessage) bool { return as(v) != as(first) })
	}
	folder := func(v json.RawMessage) (dir string) {
		var text string
		if json.Unmarshal(v, &text) == nil && strings.Contains(text, "/") {
			dir = path.Dir(text)
		}
		return dir
	}
	switch dir := folder(first); {
	case len(first) > longest || bytes.Contains(first, []byte(redact.Mark)):
	case same(func(v json.RawMessage) string { return string(v) }):
		return approvals.Member{Name: name, Value: first}
	case dir != "" && dir != "/" && same(folder):
		return approvals.Member{Name: name, Glob: dir + "/*"}
	}
	return approvals.Member{Name: name, Any: true}
}

// written returns the members as a policy file has them.
func written(members hitl.Pattern) string {
	var parts []string
	for _, m := range members {
		is := `{"any": true}`
		switch {
		case m.Value != nil:
			is = `{"is": ` + string(m.Value) + `}`
		case m.Glob != "":
			is = `{"like": ` + quoted(m.Glob) + `}`
		}
		parts = append(parts, quoted(m.Name)+": "+is)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Policy returns a policy file. As it is, it allows nothing that would not be allowed without it; what people
// approved is proposed in comments. What they only denied is denied. The date is the beginning of proposed
// remembered approvals.
func (r *Record) Policy(date time.Time) ([]byte, error) {
	if len(r.calls) == 0 {
		return nil, errors.New("the record has no calls to learn from")
	}
	var rules, standing, rest strings.Builder
	for _, t := range r.tools() {
		about := fmt.Sprintf("// %s (%s): %d calls %s; ", t, t.class, t.calls, t.when())
		pattern, exact := t.pattern()
		decided := fmt.Sprintf("people approved %d and denied %d", len(t.approved), len(t.denied))
		if t.earlier > 0 {
			decided += fmt.Sprintf(" (and %d of an earlier definition, which do not count)", t.earlier)
		}
		switch members := t.members(); {
		case len(t.approved)+len(t.denied)+t.earlier == 0:
			why := "no person decided, so nothing is proposed."
			if t.class == annotation.Safe {
				why = "it needs no rule."
			}
			rest.WriteString("  " + about + why + "\n")
		case !exact:
			fmt.Fprintf(&rules, "    %s%s; a rule cannot name this tool alone.\n", about, decided)
		case len(t.approved) == 0 && len(t.denied) > 0:
			fmt.Fprintf(&rules, "    %s%s; without this line they are asked again.\n    {\"tool\": %s, \"decide\": \"deny\", \"reason\": \"People have denied it.\"},\n", about, decided, pattern)
		case len(t.denied) > 0 || len(t.approved) < least:
			fmt.Fprintf(&rules, "    %s%s; that is not enough for a proposal.\n", about, decided)
		case members != nil:
			fmt.Fprintf(&standing, "    %s%s. For review:\n    // {\"tool\": %s, %s\"members\": %s, \"until\": %q},\n",
				about, decided, pattern, t.covered(), written(members), date.Add(lifetime).Format(time.DateOnly))
		default:
			fmt.Fprintf(&rules, "    %s%s. For review, whatever its arguments:\n    // {\"tool\": %s, %s\"decide\": \"allow\"},\n", about, decided, pattern, t.covered())
		}
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "// Learnt from %d calls. Only what people decided counts. As it is, this file allows nothing:\n"+
		"// read a line for review, and take its slashes away if its calls may be made without a question.\n{\n", len(r.calls))
	text.WriteString(rest.String() + "  \"rules\": [\n" + rules.String() + "  ],\n")
	if standing.Len() > 0 {
		text.WriteString("  \"approvals\": {\"approved\": [\n" + standing.String() + "  ]},\n")
	}
	text.WriteString("}\n")
	for _, file := range [][]byte{text.Bytes(), Reviewed(text.Bytes())} {
		if _, err := policy.Parse("the learnt policy", file); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// proposal matches a line that is proposed, as [Record.Policy] writes it.
var proposal = regexp.MustCompile(`(?m)^( *)// (\{"tool": .*\},)$`)

// Reviewed returns a learnt policy with all of its proposals accepted.
func Reviewed(text []byte) []byte { return proposal.ReplaceAll(text, []byte("$1$2")) }
