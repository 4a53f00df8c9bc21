// Package report writes what was found about the tools of some servers, for people and for programs.
// Text of a server is nothing but text in each form.
package report

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// version is that of the report as JSON. Members are added under the same version.
const version = 1

// A Report is what is known about some servers.
type Report struct {
	Version  int       `json:"version"`
	Servers  []Server  `json:"servers"`
	Tools    []Tool    `json:"tools"`
	Findings []Finding `json:"findings"`
}

// A Server is one that was asked.
type Server struct {
	ID     string `json:"id"`
	Target string `json:"target"`          // without secrets
	File   string `json:"file,omitempty"`  // the configuration that names it
	Line   int    `json:"line,omitempty"`  // its place there
	Error  string `json:"error,omitempty"` // why it did not answer
}

// A Tool is one tool of a server.
type Tool struct {
	Server    string                 `json:"server"`
	Name      string                 `json:"tool"`
	Declared  annotation.Annotations `json:"declared"`
	Inferred  annotation.Annotations `json:"inferred"`
	Effective annotation.Annotations `json:"effective"`
	Safety    annotation.Safety      `json:"safety"`
	Freshness annotation.Freshness   `json:"freshness"` // volatile if it is not known
	Secret    bool                   `json:"secret,omitempty"`
	Evidence  []annotation.Evidence  `json:"evidence"`
	Will      []string               `json:"will"`
}

// A Finding is something that stands out, by a rule whose id stays as it is.
type Finding struct {
	Level  Level  `json:"level"`
	Rule   string `json:"rule"`
	Server string `json:"server"`
	Tool   string `json:"tool,omitempty"`
	Text   string `json:"text"`
	// Fingerprint stays the same as long as rule, tool and definition do.
	Fingerprint string `json:"fingerprint"`
	// Known is set if the baseline has it.
	Known bool `json:"known,omitempty"`
}

// Add adds the tools of a catalog with their findings; will describes what the chain does with a tool.
func (r *Report) Add(tools *catalog.Catalog, changes []pins.Change, will func(*middleware.Tool) string) {
	digests := make(map[[2]string]string)
	for _, t := range tools.List() {
		declared, inferred := tools.Layers(t)
		digests[[2]string{t.Server, t.Name()}] = t.Digest.String()
		r.Tools = append(r.Tools, Tool{
			Server: t.Server, Name: t.Name(), Declared: declared, Inferred: inferred, Effective: t.Annotations,
			Safety: t.Safety(), Freshness: t.Annotations.Defaults().Freshness, Secret: t.Annotations.Secret == annotation.Yes,
			Evidence: append([]annotation.Evidence{}, t.Annotations.Evidence...), Will: strings.Split(will(t), " · "),
		})
		r.own(t, declared)
	}
	for _, f := range tools.Findings() {
		r.find(string(f.Kind), f.Server, f.Tool, f.Text, digests[[2]string{f.Server, f.Tool}])
	}
	for _, c := range changes {
		kind := finding.NotAccepted
		if c.Kind == pins.Removed {
			kind = finding.Gone
		}
		_, text, _ := strings.Cut(c.String(), ": ")
		r.find(string(kind), c.Server, c.Tool, text, digests[[2]string{c.Server, c.Tool}])
	}
	r.sort()
}

// Fail adds a server that did not answer.
func (r *Report) Fail(server, text string) {
	r.find(ruleUnreachable, server, "", text, ruleUnreachable) // what it said may differ every time
	r.sort()
}

// find adds a finding. Its fingerprint is of the tool's definition, so that a new one has new findings; otherwise
// of its text.
func (r *Report) find(rule, server, tool, text, definition string) {
	// In quotes no part runs into the next.
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", rule, server, tool, cmp.Or(definition, text)))
	r.Findings = append(r.Findings, Finding{
		Level: ruleOf(rule).level, Rule: rule, Server: server, Tool: tool, Text: text, Fingerprint: hex.EncodeToString(sum[:16]),
	})
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Server, b.Server),
			strings.Compare(a.Tool, b.Tool), strings.Compare(a.Text, b.Text))
	})
}

// Count returns how many findings that are not known are of this level or a worse one.
func (r *Report) Count(least Level) int {
	n := 0
	for _, f := range r.Findings {
		if !f.Known && f.Level >= least {
			n++
		}
	}
	return n
}

// JSON writes the report for programs, and as a baseline.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(safetext.JSONWriter(w))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	out := *r
	out.Version = version
	out.Servers, out.Tools, out.Findings = append([]Server{}, r.Servers...), append([]Tool{}, r.Tools...), append([]Finding{}, r.Findings...)
	return e.Encode(out)
}

// Baseline marks the findings as known that an earlier report has, as JSON wrote it.
func (r *Report) Baseline(path string) error {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err
	}
	var before struct {
		Version  int `json:"version"`
		Findings []struct {
			Fingerprint string `json:"fingerprint"`
		} `json:"findings"`
	}
	switch err := json.Unmarshal(text, &before); {
	case err != nil:
		return fmt.Errorf("%s is no report: %w", path, err)
	case before.Version != version:
		return fmt.Errorf("%s is no report that this program reads; write one with: fairlead inspect --json", path)
	case before.Findings == nil:
		return fmt.Errorf(`%s: it has no "findings"; write one with: fairlead inspect --json`, path)
	}
	known := make(map[string]bool, len(before.Findings))
	for _, f := range before.Findings {
		if f.Fingerprint == "" {
			return fmt.Errorf("%s: a finding has no fingerprint; write the file again with: fairlead inspect --json", path)
		}
		known[f.Fingerprint] = true
	}
	for i := range r.Findings {
		r.Findings[i].Known = known[r.Findings[i].Fingerprint]
	}
	return nil
}

// A Level is how much a finding matters. The names are SARIF's.
type Level uint8

// The levels.
const (
	None Level = iota
	Note
	Warning
	Error
)

var levels = [...]string{"none", "note", "warning", "error"}

// Levels are the names, the worst first.
func Levels() []string {
	names := slices.Clone(levels[:])
	slices.Reverse(names)
	return names
}

// String returns the name.
func (l Level) String() string { return levels[min(int(l), len(levels)-1)] }

// MarshalText returns the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a name.
func (l *Level) UnmarshalText(text []byte) error {
	i := slices.Index(levels[:], string(text))
	if i < 0 {
		return fmt.Errorf("%.40q is no level; the levels are %s", text, strings.Join(Levels(), ", "))
	}
	*l = Level(i)
	return nil
}

// The rules that are not the catalogue's.
const (
	ruleUndeclared  = "declares-nothing"
	ruleUnknown     = "class-unknown"
	ruleHidden      = "hidden-characters"
	ruleUnreachable = "unreachable"
)

// A rule has the subject of its findings, and the next step. Its id never changes its meaning.
type rule struct {
	id    string
	level Level
	short string
	help  string
	next  string // what a person does now
}

var rules = []rule{
	{string(finding.Schema), Error, "A schema will be refused.", "The tool is left out, since its schema cannot be compiled or is too large or too deep.", "ask the server's author to mend it"},
	{string(finding.LeftOut), Error, "A tool cannot be taken.", "Its name breaks MCP's rule, is there twice, or its definition cannot be read. It is neither listed nor called.", "ask the server's author to mend it"},
	{string(finding.Doubted), Error, "It is declared read-only, and its words describe a deletion or another loss.", "An annotation is a claim. Where the leading verb or the schema contradicts it, the words count, unless you trust the server.", "read what the tool does, and decide its class with 'fairlead review'"},
	{ruleHidden, Error, "Characters that nobody sees.", "Names, descriptions or schemas hold controls, zero-width or reordering characters. They can hide instructions from a person that a model reads.", "look at the text with 'fairlead lock diff', and do not use the server if it hides something"},
	{string(finding.NotAccepted), Error, "New or changed since the lock file.", "Nobody has accepted this definition.", "look at it with 'fairlead lock diff', and accept it with 'fairlead lock accept'"},
	{ruleUnreachable, Error, "A server did not answer.", "It could not be started or reached, or did not list its tools.", "run its command by hand, or check its address"},
	{string(finding.Contradiction), Warning, "Annotations that contradict each other.", "The more dangerous one counts.", "nothing has to be done; the server's author can mend it"},
	{string(finding.Unreadable), Warning, "Annotations that cannot be read.", "They are left out, and the careful value counts.", "nothing has to be done; the server's author can mend it"},
	{string(finding.Repeatable), Warning, "It says idempotent, and cannot be taken back.", "It is not repeated on that word.", "nothing has to be done; decide its class with 'fairlead review' if it may be repeated"},
	{string(finding.DoubtedWrite), Warning, "It is declared read-only, and its words describe a write.", "The words count until you trust the server.", "if it only reads, decide so with 'fairlead review', or believe the server with --trust"},
	{ruleUnknown, Warning, "Nothing says what it does.", "Neither annotations nor words give it away, so it counts as dangerous and asks every time.", "decide its class with 'fairlead review'"},
	{string(finding.Stale), Warning, "A list that could not be read again.", "What was known before counts.", "see whether the server still runs"},
	{string(finding.Gone), Warning, "Accepted, and no longer listed.", "The lock file has a tool that its server no longer lists.", "take it out of the lock file with 'fairlead lock accept'"},
	{string(finding.Unused), Warning, "A word of the host for a tool that is not there.", "The override is about nothing. A tool may have been renamed.", "correct the name in the policy file"},
	{string(finding.Permission), Warning, "A permission that cannot be read.", "Only \"*.all\" covers the tool.", "correct the permission in the policy file"},
	{ruleUndeclared, Note, "It declares nothing about itself.", "What it does is inferred from its words. MCP's annotations would say it better.", "nothing has to be done"},
	{string(finding.Unbelieved), Note, "It says milder things than anything else does.", "A server's own word only raises a class until the server is trusted.", "if the server is yours, believe it with --trust"},
	{string(finding.Lowered), Note, "The host's own word lowers its class.", "Somebody decided that.", "see that it is still right"},
	{string(finding.Unprepared), Note, "Parts of the list were not seen as the server wrote it.", "The session was not prepared.", "nothing has to be done"},
}

// ruleOf returns the rule of an id. A new rule of the catalog is a warning.
func ruleOf(id string) rule {
	for _, r := range rules {
		if r.id == id {
			return r
		}
	}
	return rule{id: id, level: Warning, short: id, help: id, next: "see docs/reference/command.md"}
}

// advice is what a rule is about, and what to do.
func (r rule) advice() string {
	return r.help + " " + strings.ToUpper(r.next[:1]) + r.next[1:] + "."
}

// own finds what the catalogue does not look for.
func (r *Report) own(t *middleware.Tool, declared annotation.Annotations) {
	find := func(rule, text string) { r.find(rule, t.Server, t.Name(), text, t.Digest.String()) }
	if hints(declared) == none {
		find(ruleUndeclared, "declares nothing; what it does is inferred")
	}
	if t.Safety() == annotation.Unknown {
		find(ruleUnknown, "nobody says what it does and no word gives it away; it counts as dangerous")
	}
	if found := hidden(t.Definition); found != "" {
		find(ruleHidden, "hidden characters: "+found)
	}
}

const none = "—"

// hints writes the hints that decide the class, "—" where there are none.
func hints(a annotation.Annotations) string {
	var words []string
	for _, h := range []struct {
		value   annotation.Hint
		yes, no string
	}{
		{a.ReadOnly, "read-only", "writes"},
		{a.Destructive, "destructive", "additive"},
		{a.RequiresConfirmation, "confirm", ""},
		{a.Idempotent, "idempotent", ""},
		{a.OpenWorld, "open", ""},
	} {
		switch {
		case h.value == annotation.Yes:
			words = append(words, h.yes)
		case h.value == annotation.No && h.no != "":
			words = append(words, h.no)
		}
	}
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, " ")
}

// class is the tool's class, and for a read how long its result stays true.
func class(t Tool) string {
	switch {
	case t.Safety != annotation.Safe:
		return t.Safety.String()
	case t.Secret:
		return "safe, secret"
	}
	return "safe, " + string(t.Freshness)
}

// because is the evidence that decided the class. It may hold what a server wrote.
func because(t Tool) string {
	decides := annotation.ReadOnlyHint
	switch {
	case t.Effective.Destructive == annotation.Yes:
		decides = annotation.DestructiveHint
	case t.Effective.RequiresConfirmation == annotation.Yes:
		decides = annotation.RequiresConfirmation
	case t.Safety == annotation.Unknown:
		return "nothing known"
	}
	if e, ok := t.Effective.EvidenceOf(decides); ok {
		return e.String()
	}
	return "MCP's default for what nobody said"
}

func will(t Tool) string { return strings.Join(t.Will, " · ") }

// subject names what a finding is about. It may hold what a server wrote.
func (f Finding) subject() string {
	if f.Tool == "" {
		return f.Server
	}
	return f.Server + "/" + f.Tool
}

// A group is findings that say the same of several tools.
type group struct {
	Finding

	Subjects []string // without the server's name where there is one server
}

// grouped puts the findings that are not known together, in their order, and counts the others.
func (r *Report) grouped() (groups []*group, known int) {
	at := make(map[[2]string]*group)
	for _, f := range r.Findings {
		if f.Known {
			known++
			continue
		}
		key := [2]string{f.Rule, f.Text}
		g := at[key]
		if g == nil {
			g = &group{Finding: f}
			at[key] = g
			groups = append(groups, g)
		}
		subject := f.subject()
		if f.Tool != "" && len(r.Servers) == 1 {
			subject = f.Tool
		}
		g.Subjects = append(g.Subjects, subject)
	}
	return groups, known
}

// classes counts the tools of each class, the worst first, such as "1 dangerous, 2 safe".
func (r *Report) classes() string {
	counts := make(map[annotation.Safety]int)
	for _, t := range r.Tools {
		counts[t.Safety]++
	}
	var parts []string
	for _, class := range []annotation.Safety{annotation.Unknown, annotation.Dangerous, annotation.Moderate, annotation.Safe} {
		if n := counts[class]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, class))
		}
	}
	return strings.Join(parts, ", ")
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// hidden reports which characters of a definition are invisible, and where; "" for none. Those of an
// emoji, between letters of a script that joins them, and blanks hide nothing.
func hidden(definition *mcp.Tool) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(definition); err != nil { // the catalogue took it
		return ""
	}
	if !bytes.Contains(text.Bytes(), []byte(`\u`)) && !bytes.ContainsFunc(text.Bytes(), suspicious) {
		return ""
	}
	var all any
	if err := json.Unmarshal(text.Bytes(), &all); err != nil {
		return ""
	}
	var found []string
	walk("", all, func(path, s string) {
		if where := hides(s); where != "" {
			found = append(found, path+" has "+where)
		}
	})
	return strings.Join(few(found, "and %d more places"), "; ")
}

func few(texts []string, more string) []string {
	const most = 5
	if len(texts) > most {
		return append(texts[:most], fmt.Sprintf(more, len(texts)-most))
	}
	return texts
}

// walk yields each text in a value, keys included, in a fixed order.
func walk(path string, v any, each func(path, s string)) {
	switch v := v.(type) {
	case string:
		each(path, v)
	case []any:
		for i, item := range v {
			walk(fmt.Sprintf("%s[%d]", path, i), item, each)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := safetext.Cut(safetext.Line(key), 80)
			if path != "" {
				at = path + "." + at
			}
			each("a key of "+at, key)
			walk(at, v[key], each)
		}
	}
}

// hides counts the runes of a text that hide something.
func hides(s string) string {
	runes := []rune(s)
	counts := make(map[rune]int)
	for i, r := range runes {
		if suspicious(r) && !needed(runes, i) {
			counts[r]++
		}
	}
	var parts []string
	for _, r := range slices.Sorted(maps.Keys(counts)) {
		part := fmt.Sprintf("%U", r)
		if n := counts[r]; n > 1 {
			part += fmt.Sprintf(" %d times", n)
		}
		parts = append(parts, part)
	}
	return strings.Join(few(parts, "and %d more"), ", ")
}

const (
	joiner    = '\u200d'
	nonJoiner = '\u200c'
	asText    = '\ufe0e'
	asEmoji   = '\ufe0f'
)

// suspicious reports whether a rune is invisible or moves what is shown, other than white space.
func suspicious(r rune) bool {
	switch r {
	case '\n', '\t', '\r':
		return false
	case '\u2800':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// needed reports whether the rune at i is the form of a symbol, or joins two symbols or two letters
// of a script that joins them.
func needed(s []rune, i int) bool {
	if i == 0 {
		return false
	}
	before := s[i-1]
	switch s[i] {
	case asText, asEmoji:
		return unicode.In(before, unicode.S, unicode.P, unicode.Nd)
	case joiner, nonJoiner:
		if before == asEmoji && i > 1 {
			before = s[i-2]
		}
		if i+1 == len(s) {
			return false
		}
		after := s[i+1]
		symbols := unicode.In(before, unicode.S) && unicode.In(after, unicode.S)
		letters := joins(before) && joins(after)
		return symbols || letters
	}
	return false
}

// joins reports whether a rune is of a script whose letters have forms.
func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer)
}

// Table writes the report for a terminal, or for a pipe, with a line for each tool and nothing cut.
func (r *Report) Table(out io.Writer, s tty.Style) error {
	w := bufio.NewWriter(out)
	rows := r.rows()
	var widths [6]int
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], tty.Wide(cell))
		}
	}
	total := 0
	for _, n := range widths {
		total += n + gap
	}
	switch {
	case len(r.Tools) == 0:
		fmt.Fprintln(w, "There are no tools.")
	case s.Live && total-gap > s.Width:
		r.narrow(w, s)
	default:
		for i, row := range rows {
			fmt.Fprintln(w, line(row, widths, s, i == 0))
		}
	}
	r.findings(w, s)
	return w.Flush()
}

const (
	gap     = 2
	classAt = 3 // the column
)

// rows are the cells of the table, its head first.
func (r *Report) rows() [][6]string {
	several := len(r.Servers) > 1
	rows := [][6]string{{"TOOL", "DECLARED", "INFERRED", "CLASS", "THE CHAIN WILL", "BECAUSE"}}
	for _, t := range r.Tools {
		rows = append(rows, [6]string{
			t.shown(several), hints(t.Declared), hints(t.Inferred), class(t), will(t), safetext.Line(because(t)),
		})
	}
	return rows
}

// shown is the tool's name, with that of its server where there are several.
func (t Tool) shown(several bool) string {
	if several {
		return safetext.Line(t.Server + "/" + t.Name)
	}
	return safetext.Line(t.Name)
}

func line(row [6]string, widths [6]int, s tty.Style, head bool) string {
	var b strings.Builder
	for i, cell := range row {
		padded := cell
		if i < len(row)-1 {
			padded = tty.Pad(cell, widths[i]+gap)
		}
		switch {
		case head:
			padded = s.Paint(tty.Dim, padded)
		case i == classAt:
			padded = s.Paint(classPaint(cell), padded)
		}
		b.WriteString(padded)
	}
	return strings.TrimRight(b.String(), " ")
}

// narrow gives every tool some lines, for a terminal that the table does not fit in.
func (r *Report) narrow(w io.Writer, s tty.Style) {
	several := len(r.Servers) > 1
	for _, t := range r.Tools {
		fmt.Fprintf(w, "%s %s\n", s.Paint(classPaint(class(t)), tty.Pad("● "+class(t), tty.Wide("● safe, volatile"))),
			s.Paint(tty.Bold, tty.Fit(t.shown(several), max(s.Width-18, 20))))
		for _, text := range []string{
			will(t),
			"declared: " + hints(t.Declared) + " · inferred: " + hints(t.Inferred),
			safetext.Line(because(t)),
		} {
			for _, part := range safetext.Wrap(text, s.Width-4) {
				fmt.Fprintln(w, "    "+s.Paint(tty.Dim, part))
			}
		}
	}
}

func classPaint(cell string) tty.Paint {
	class, _, _ := strings.Cut(cell, ",")
	return cmp.Or(map[string]tty.Paint{"safe": tty.Green, "moderate": tty.Yellow, "dangerous": tty.Red}[class], tty.Purple)
}

// maxSubjects is how many tools are named of which the same is said.
const maxSubjects = 8

// findings writes the findings. One that is the same for many tools is written once.
func (r *Report) findings(w io.Writer, s tty.Style) {
	groups, known := r.grouped()
	if len(r.Tools) > 0 {
		fmt.Fprintf(w, "\n%s: %s\n", plural(len(r.Tools), "tool"), r.classes())
	}
	if len(groups) > 0 {
		fmt.Fprintln(w, "\nFINDINGS")
	}
	for _, g := range groups {
		about := safetext.Line(g.Subjects[0])
		if n := len(g.Subjects); n > 1 {
			names := make([]string, 0, maxSubjects)
			for _, subject := range g.Subjects[:min(n, maxSubjects)] {
				names = append(names, safetext.Line(subject))
			}
			if about = fmt.Sprintf("%d tools (%s", n, strings.Join(names, ", ")); n > maxSubjects {
				about += ", …"
			}
			about += ")"
		}
		paint := cmp.Or(map[Level]tty.Paint{Error: tty.Red, Warning: tty.Yellow}[g.Level], tty.Dim)
		head := "  " + s.Paint(paint, tty.Pad(g.Level.String(), len("warning"))) + "  "
		text := fmt.Sprintf("%s: %s [%s]", about, safetext.Line(g.Text), g.Rule)
		next := "next: " + ruleOf(g.Rule).next
		lines := []string{text, next}
		if s.Live {
			lines = append(safetext.Wrap(text, s.Width-11), safetext.Wrap(next, s.Width-11)...)
		}
		for i, part := range lines {
			if i > 0 {
				head = strings.Repeat(" ", 11)
			}
			fmt.Fprintln(w, head+part)
		}
	}
	if known > 0 {
		fmt.Fprintf(w, "\n%s of the baseline not shown\n", plural(known, "known finding"))
	}
}

// Markdown writes the report for a comment, a wiki or a summary. Text of a server is in code, so
// that no Markdown, mention or link in it counts.
func (r *Report) Markdown(out io.Writer) error {
	w := bufio.NewWriter(out)
	several := len(r.Servers) > 1
	fmt.Fprintln(w, "# What these tools can do")
	fmt.Fprintln(w)
	for _, s := range r.Servers {
		fmt.Fprintf(w, "- %s: %s", code(s.ID), code(s.Target))
		if s.Error != "" {
			fmt.Fprint(w, " (did not answer)")
		}
		fmt.Fprintln(w)
	}
	if len(r.Tools) > 0 {
		fmt.Fprintf(w, "\n%s: %s\n\n", plural(len(r.Tools), "tool"), r.classes())
		fmt.Fprintln(w, "| tool | declared | inferred | class | the chain will | because |\n|---|---|---|---|---|---|")
	}
	for _, t := range r.Tools {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", cell(t.shown(several)), hints(t.Declared), hints(t.Inferred), class(t), will(t), cell(because(t)))
	}
	groups, known := r.grouped()
	if len(groups) > 0 {
		fmt.Fprintln(w, "\n## Findings")
		fmt.Fprintln(w)
	}
	for _, g := range groups {
		fmt.Fprintf(w, "- **%s** %s (`%s`)", g.Level, code(g.Text), g.Rule)
		for i, subject := range g.Subjects {
			if i == maxSubjects {
				fmt.Fprintf(w, " and %d more", len(g.Subjects)-i)
				break
			}
			fmt.Fprint(w, " "+code(subject))
		}
		fmt.Fprintf(w, ". Next: %s.\n", ruleOf(g.Rule).next)
	}
	if known > 0 {
		fmt.Fprintf(w, "\n%s of the baseline not shown.\n", plural(known, "known finding"))
	}
	return w.Flush()
}

// code writes any text as code within a line.
func code(s string) string {
	s = safetext.Line(s)
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if s == "" || strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// cell is code within a table, where a bar would end the cell.
func cell(s string) string { return strings.ReplaceAll(code(s), "|", `\|`) }

var (
	//go:embed page/report.html
	pageText string
	//go:embed page/style.css
	style string
	//go:embed page/sort.js
	script string

	page = template.Must(template.New("report").Funcs(template.FuncMap{
		// These make what a server wrote safe to look at; the template makes it safe as HTML.
		"line": safetext.Line, "text": safetext.Text,
		"hints": hints, "because": because, "class": class, "help": func(id string) string { return ruleOf(id).advice() },
	}).Parse(pageText))
)

// HTML writes the report as a page in one file, which asks for nothing from anywhere.
func (r *Report) HTML(w io.Writer, at time.Time) error {
	findings, known := r.grouped()
	return page.Execute(w, map[string]any{
		"Policy":   policy(),
		"Style":    template.CSS(style), //nolint:gosec // both are files of ours
		"Script":   template.JS(script), //nolint:gosec // see above
		"At":       at.UTC().Format("2006-01-02 15:04 UTC"),
		"Stamp":    at.UTC().Format(time.RFC3339),
		"Servers":  r.Servers,
		"Several":  len(r.Servers) > 1,
		"Classes":  r.classes(),
		"Tools":    slices.SortedStableFunc(slices.Values(r.Tools), func(a, b Tool) int { return cmp.Compare(a.Safety, b.Safety) }),
		"Findings": findings,
		"Known":    known,
	})
}

// policy lets the page do what it does itself, and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
}

// sarifSchema names the form; programs have it and do not fetch it.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

const home = "https://github.com/fairlead-go/fairlead"

type object = map[string]any

// SARIF writes the findings as SARIF 2.1.0. A finding is located at its server's entry in a
// configuration file, if there is one; compared means that there was a baseline.
func (r *Report) SARIF(w io.Writer, compared bool) error {
	index := make(map[string]int)
	var described []object
	for i, rule := range rules {
		index[rule.id] = i
		described = append(described, sarifRule(rule))
	}
	results := []object{}
	for _, f := range r.Findings {
		i, known := index[f.Rule]
		if !known {
			i = len(described)
			index[f.Rule] = i
			described = append(described, sarifRule(ruleOf(f.Rule)))
		}
		result := object{
			"ruleId": f.Rule, "ruleIndex": i, "level": f.Level, "message": sarifText(f.subject() + ": " + f.Text),
			"locations": []object{r.location(f)}, "partialFingerprints": object{"fairlead/v1": f.Fingerprint},
		}
		switch {
		case f.Known:
			result["baselineState"] = "unchanged"
		case compared:
			result["baselineState"] = "new"
		}
		results = append(results, result)
	}
	complete := !slices.ContainsFunc(r.Servers, func(s Server) bool { return s.Error != "" })
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(object{
		"$schema": sarifSchema,
		"version": "2.1.0",
		"runs": []object{{
			"tool":        object{"driver": object{"name": "fairlead", "informationUri": home, "rules": described}},
			"invocations": []object{{"executionSuccessful": complete}},
			"results":     results,
			"columnKind":  "unicodeCodePoints",
		}},
	})
}

func sarifRule(r rule) object {
	return object{
		"id": r.id, "shortDescription": sarifText(r.short), "help": sarifText(r.advice()),
		"defaultConfiguration": object{"level": r.level},
	}
}

// sarifText escapes any text as a message, in which brackets and braces have a meaning.
func sarifText(s string) object {
	return object{"text": messageEscapes.Replace(safetext.Line(s))}
}

var messageEscapes = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `{`, `{{`, `}`, `}}`)

func (r *Report) location(f Finding) object {
	name, kind := f.Server, "module"
	if f.Tool != "" {
		name, kind = f.Tool, "function"
	}
	at := object{"logicalLocations": []object{
		{"name": safetext.Line(name), "fullyQualifiedName": safetext.Line(f.subject()), "kind": kind},
	}}
	for _, s := range r.Servers {
		if s.ID == f.Server && s.File != "" {
			at["physicalLocation"] = object{"artifactLocation": object{"uri": fileURI(s.File)}, "region": object{"startLine": max(1, s.Line)}}
		}
	}
	return at
}

// fileURI is a path as a reference: relative ones stay so, for the root of a checkout.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if filepath.IsAbs(path) {
		return (&url.URL{Scheme: "file", Path: slashed}).String()
	}
	return (&url.URL{Path: strings.TrimPrefix(slashed, "./")}).EscapedPath()
}
