// Package learn makes a policy file of recorded calls, and reports what a policy changes about them.
package learn

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/fairlead-go/fairlead/safetext"
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

// A tool is what was recorded of one.
type tool struct {
	server, name     string
	class            annotation.Safety // the strictest
	definition       string            // the last
	calls            int
	approved, denied []audit.Record
	earlier          int // approvals of an earlier definition
	days             []string
}

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
	text, _ := json.Marshal(s) //nolint:errchkjson // a text can be written
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
			fmt.Fprintf(&standing, "    %s%s. For review:\n    // {\"tool\": %s, \"members\": %s, \"until\": %q},\n",
				about, decided, pattern, written(members), date.Add(lifetime).Format(time.DateOnly))
		default:
			fmt.Fprintf(&rules, "    %s%s. For review, whatever its arguments:\n    // {\"tool\": %s, \"decide\": \"allow\"},\n", about, decided, pattern)
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

var proposal = regexp.MustCompile(`(?m)^( *)// (\{"tool": .*\},)$`)

// Reviewed returns a learnt policy with all of its proposals accepted.
func Reviewed(text []byte) []byte { return proposal.ReplaceAll(text, []byte("$1$2")) }

var fates = [...]string{proxy.Allowed: "allowed", proxy.Asked: "asked", proxy.Refused: "refused"}

var byPolicy = regexp.MustCompile(`:\d+$|^read-only$`)

// before returns what was done with a call when it was recorded, or would have been if it was only observed. It is
// not known of a call that was refused, but not by a policy, or whose question was left open: another call has its end.
func before(r audit.Record) (f proxy.Fate, known bool) {
	if r.Outcome == audit.Denied {
		return proxy.Asked, true
	}
	for _, d := range r.Decisions {
		switch {
		case d.Stage == "hitl" && d.What == "pending":
			return f, false
		case d.What == "refused":
			return proxy.Refused, byPolicy.MatchString(d.Stage)
		case d.Stage == "hitl" && r.Via != "policy", d.Stage == "observe" && strings.HasPrefix(d.Why, "would: ask first"):
			f = proxy.Asked
		case d.Stage == "observe" && strings.HasPrefix(d.Why, "would: refuse"):
			f = proxy.Refused
		}
	}
	return f, f == proxy.Asked || r.Outcome != audit.Refused && r.Outcome != audit.NotSent
}

func ran(r audit.Record) bool {
	return !slices.Contains([]audit.Outcome{audit.Denied, audit.Refused, audit.NotSent, audit.Cancelled, audit.InputRequired}, r.Outcome)
}

// A Comparison is what a policy changes about recorded calls.
type Comparison struct {
	// Loosened is how many calls were asked about or refused, and would be allowed.
	Loosened int
	// Broken is how many calls ran, and would be refused.
	Broken int

	rows        map[string]*row
	left, blind int
}

type row struct {
	calls         int
	before, after [len(fates)]int
	changes       map[[2]proxy.Fate]int
	examples      map[[2]proxy.Fate]string
}

// Compare runs the calls against a policy.
func (r *Record) Compare(ctx context.Context, p *policy.Policy) (*Comparison, error) {
	trial, err := proxy.NewTrial(p, r.calls) //nolint:contextcheck // it asks no server
	if err != nil {
		return nil, err
	}
	c := &Comparison{rows: make(map[string]*row)}
	for _, call := range r.calls {
		was, known := before(call)
		if !known {
			c.left++
			continue
		}
		is, err := trial.Try(ctx, call)
		if err != nil {
			return nil, err
		}
		name := call.Server + "/" + call.Tool
		if proxy.Arguments(call) == nil && p.Arguments[name] != nil {
			c.blind++
		}
		if c.rows[name] == nil {
			c.rows[name] = &row{changes: make(map[[2]proxy.Fate]int), examples: make(map[[2]proxy.Fate]string)}
		}
		c.rows[name].count(call, was, is)
		if was != proxy.Allowed && is == proxy.Allowed {
			c.Loosened++
		}
		if is == proxy.Refused && ran(call) {
			c.Broken++
		}
	}
	return c, nil
}

func (w *row) count(call audit.Record, was, is proxy.Fate) {
	w.calls++
	w.before[was]++
	w.after[is]++
	if was != is {
		w.changes[[2]proxy.Fate{was, is}]++
		w.examples[[2]proxy.Fate{was, is}] = fmt.Sprintf("call %s of %s", cmp.Or(call.Call, fmt.Sprint(call.Run, "/", call.N)), call.Time.UTC().Format("2006-01-02T15:04:05Z"))
	}
}

// Write prints a table with a line for each tool: how many of its calls were asked about, refused and allowed, how
// many would be, and the last call of each change.
func (c *Comparison) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tCALLS\tASKED\tREFUSED\tALLOWED\tCHANGES")
	for _, name := range slices.Sorted(maps.Keys(c.rows)) {
		row := c.rows[name]
		fmt.Fprintf(w, "%s\t%d", safetext.Line(name), row.calls)
		for _, f := range []proxy.Fate{proxy.Asked, proxy.Refused, proxy.Allowed} {
			if row.before[f] == row.after[f] {
				fmt.Fprintf(w, "\t%d", row.before[f])
			} else {
				fmt.Fprintf(w, "\t%d → %d", row.before[f], row.after[f])
			}
		}
		var changes []string
		for _, change := range slices.SortedFunc(maps.Keys(row.changes), func(a, b [2]proxy.Fate) int { return slices.Compare(a[:], b[:]) }) {
			changes = append(changes, fmt.Sprintf("%d %s → %s (%s)", row.changes[change], fates[change[0]], fates[change[1]], safetext.Line(row.examples[change])))
		}
		fmt.Fprintf(w, "\t%s\n", strings.Join(changes, ", "))
	}
	if c.left > 0 {
		fmt.Fprintf(w, "%d calls were refused by a limit, a lock or a server, or waited for their question, and are left out\n", c.left)
	}
	if c.blind > 0 {
		fmt.Fprintf(w, "%d calls were tested without their arguments, which are not recorded, and the policy has rules over them\n", c.blind)
	}
	return w.Flush()
}

// A Record is the calls of audit files that have ended, the oldest first.
type Record struct {
	calls    []audit.Record      // ends, with the arguments and the definition of their intents
	intents  map[id]audit.Record // of calls without an end
	seen     map[id]bool         // so that a file that is given twice counts once
	unlisted int                 // calls of tools that were not listed
}

type id struct {
	run string
	n   int64
}

// Read reads audit files. An error names a file that was cut or changed, or the line that another version wrote.
func Read(files []string) (*Record, error) {
	r := &Record{intents: make(map[id]audit.Record), seen: make(map[id]bool)}
	for _, name := range files {
		if err := r.read(name); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(r.calls, func(a, b audit.Record) int { return a.Time.Compare(b.Time) })
	return r, nil
}

func (r *Record) read(name string) error {
	switch report, err := audit.Verify(name); {
	case err != nil:
		return err
	case report.State == audit.Damaged || report.State == audit.NotAttested:
		return fmt.Errorf("%s: %s: %s; it cannot be used (see fairlead audit verify)", name, report.State, report.Problem)
	}
	in, err := os.Open(filepath.Clean(name))
	if err != nil {
		return err
	}
	defer in.Close()
	for lines, n := bufio.NewReader(in), 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if json.Valid(line) { // one that was cut off is explained by a later one
			if err := r.add(line); err != nil {
				return fmt.Errorf("%s: line %d: %w; another version of Fairlead wrote it, so read it with that one", name, n, err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (r *Record) add(line []byte) error {
	var got struct {
		Seq  int64  `json:"seq"`
		Prev string `json:"prev"`
		audit.Record
		Found json.RawMessage `json:"found"`
	}
	strict := json.NewDecoder(bytes.NewReader(line))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&got); err != nil {
		return errors.New(safetext.Line(err.Error()))
	}
	var class annotation.Safety
	if err := class.UnmarshalText([]byte(got.Class)); got.Class != "" && err != nil {
		return errors.New(safetext.Line(err.Error()))
	}
	call := id{got.Run, got.N}
	switch got.Kind {
	case audit.Intent:
		if !r.seen[call] {
			r.intents[call] = got.Record
		}
	case audit.End:
		if r.seen[call] {
			return nil
		}
		r.seen[call] = true
		begun := r.intents[call]
		delete(r.intents, call)
		if got.Arguments == nil {
			got.Arguments = begun.Arguments
		}
		if got.Definition == "" {
			got.Definition = begun.Definition
		}
		if got.Tool == "" || refusedBy(got.Record) == "proxy" { // which knew no such tool: the caller chose its name
			r.unlisted++
			return nil
		}
		r.calls = append(r.calls, got.Record)
	case audit.Recovered:
	default:
		return fmt.Errorf("a record of the kind %q is unknown", safetext.Line(string(got.Kind)))
	}
	return nil
}

func refusedBy(r audit.Record) string {
	for _, d := range r.Decisions {
		if d.What == "refused" {
			return d.Stage
		}
	}
	return ""
}

// Notes returns what the record lacks, a line each.
func (r *Record) Notes() (notes []string) {
	class, arguments, refused := 0, 0, 0
	for _, c := range r.calls {
		if c.Class == "" {
			class++
		}
		if proxy.Arguments(c) == nil && c.Class != annotation.Safe.String() && c.Class != annotation.Moderate.String() {
			arguments++
		}
		if byPolicy.MatchString(refusedBy(c)) {
			refused++
		}
	}
	for _, note := range []struct {
		n    int
		what string
	}{
		{class, "have no class, and count as unknown"},
		{arguments, "have no arguments, so that rules over arguments and remembered approvals cannot match"},
		{refused, "were refused by a policy, whose rules are not learnt"},
		{len(r.intents), "have no end, and are left out"},
		{r.unlisted, "named a tool that was not listed, and are left out"},
	} {
		if note.n > 0 {
			notes = append(notes, fmt.Sprintf("%d calls %s", note.n, note.what))
		}
	}
	return notes
}
