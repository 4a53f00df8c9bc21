package shell

import (
	"cmp"
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
	"mvdan.cc/sh/v3/syntax"
)

// simple judges a command with its assignments in front.
func (r *reader) simple(c *syntax.CallExpr, s *scope) string {
	front, why := r.assign(c.Assigns, s, len(c.Args) > 0)
	if why != "" || len(c.Args) == 0 {
		return why
	}
	at := s
	if first := c.Args[0].Lit(); first == "[" || first == "test" {
		tested := *s
		tested.exempt = true
		at = &tested
	}
	words, why := r.words(c.Args, at)
	if why != "" {
		return why
	}
	if why := r.globsFault(words, s); why != "" {
		return why
	}
	return r.call(words, front, s)
}

// call judges a command by its words.
func (r *reader) call(words []word, front []variable, s *scope) string {
	if r.commands++; r.commands > maxCommands {
		return "more commands than are read"
	}
	if r.depth++; r.depth > maxDepth {
		return "more levels than are read"
	}
	defer func() { r.depth-- }()
	if len(words) == 0 {
		return "a command that is not known"
	}
	name := words[0]
	if !name.known() {
		return "the command " + shown(name) + ", which is not known"
	}
	if r.functions[name.text] {
		if len(front) > 0 || r.judgedWith[name.text] != len(r.exported) {
			return "a variable in front of a function"
		}
		if r.open != "" { // it may run git
			return "a function in the folder " + probes.Shown(r.open)
		}
		for name := range r.byCalls.vars { // a function may call another one
			s.vars[name] = anyValue
		}
		if r.strays {
			s.folders, s.then = nil, nil
		}
		return ""
	}
	row := commands()[program(name.text)]
	for _, v := range r.exported {
		if why := environmentFault(v, row); why != "" {
			return why
		}
	}
	for _, v := range front {
		if v.name == "IFS" && name.text == "read" {
			continue
		}
		if why := environmentFault(v, row); why != "" {
			return why
		}
	}
	if row == nil || strings.Contains(name.text, " ") { // "git log" in quotes is a program of that name
		return "the command " + probes.Shown(name.text)
	}
	before := r.open
	why := r.judge(row, words[1:], s)
	r.changeFolder(words, s)
	if why == "" && r.open != before && (r.again > 0 || r.trapped) { // what was read before may run there
		return openFault(r.open)
	}
	return why
}

// program returns the name by which the tables know a program of the system.
func program(name string) string {
	for _, folder := range []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"} {
		if base, ok := strings.CutPrefix(name, folder); ok && !strings.Contains(base, "/") {
			return base
		}
	}
	return name
}

// A command is a program or a subcommand that the tables know, and the words behind it.
type command struct {
	path  string // its name with those above it: "git log"
	row   *row
	words []word
}

// below returns the subcommand that the first of some words names, if it has a row of its own.
func (c *command) below(words []word) *command {
	if len(words) == 0 || !words[0].known() || strings.Contains(words[0].text, " ") {
		return nil
	}
	row := commands()[c.path+" "+words[0].text]
	if row == nil {
		return nil
	}
	return &command{row.name, row, words[1:]}
}

// isHelp reports whether a call only asks a program for its help or its version.
func (c *command) isHelp() bool {
	if len(c.words) != 1 || c.row.kind == runs || c.path == "echo" || c.path == "printf" {
		return false
	}
	return c.words[0].is("--help") || c.words[0].is("--version") && !strings.Contains(c.path, " ")
}

// judge judges the words behind a command by its row, and those of its subcommands.
func (r *reader) judge(row *row, words []word, s *scope) string {
	if row.name == "git" && r.open != "" { // it reads the settings of the repository that it is in
		return r.found(row.name, openFault(r.open))
	}
	for c := (&command{row.name, row, words}); ; {
		if c.isHelp() {
			return r.found(c.path, "")
		}
		if raw := rawHandlerOf(c.path); raw != nil {
			return r.found(c.path, raw(r, c.row, c.words, s))
		}
		if below := c.below(c.words); below != nil { // also brew --prefix
			c = below
			continue
		}
		switch c.row.kind {
		case asks:
			return "the command " + probes.Shown(c.path)
		case secret:
			return probes.Shown(c.path) + ", which prints a secret"
		case writing:
			if (r.roots == nil || len(r.roots.Write) == 0) && c.row.name != "tee" {
				return "the command " + probes.Shown(c.path)
			}
		}
		p, why := r.parse(c.row, s, c.words)
		if why != "" {
			return r.found(c.path, why)
		}
		switch c.row.kind {
		case group, menu, verbs, runs:
			if why := r.filesFault(c.row, p, s, false); why != "" {
				return r.found(c.path, why)
			}
			s = p.moved(s)
		}
		switch c.row.kind {
		case runs:
			return r.inner(c.row, c.path, p, s)
		case group, menu, verbs:
		default:
			return r.found(c.path, r.leaf(c.row, p, s))
		}
		below, why := r.subcommand(c, p, s)
		if below == nil {
			return why
		}
		c = below
	}
}

// subcommand returns the subcommand that the operands of a command name, or nil and what is judged of the whole.
func (r *reader) subcommand(c *command, p parsed, s *scope) (below *command, why string) {
	row, path := c.row, c.path
	if len(p.operands) == 0 {
		if row.kind == menu || needsOption(r, row, p, s) == "" || p.has("-help", "-version", "-h", "-v", "-V", "--list") {
			return nil, r.found(path, "")
		}
		return nil, r.found(path, "nothing behind it")
	}
	if row.do != nil {
		if why := row.do(r, row, p, s); why != "" {
			return nil, r.found(path, why)
		}
	}
	sub, words := p.operands[0], p.operands[1:]
	if !sub.known() || strings.Contains(sub.text, " ") {
		return nil, r.found(path, "the subcommand "+shown(sub))
	}
	if below := c.below(p.operands); below != nil {
		return below, ""
	}
	what := byte(0)
	if row.kind == verbs {
		what = row.word(sub.text)
		if what == 0 && within(path+" "+sub.text) {
			what = '/'
		}
		if what == '?' {
			what = 'r'
			if len(words) > 0 && !row.isOption(words[0].text) {
				what = '/'
			}
		}
	}
	switch {
	case what == '~':
		return &command{path, row, words}, ""
	case what == '/':
		if nouns := commands()[row.name+" *"]; nouns != nil { // the words behind any noun
			row = nouns
		}
		return &command{path + " " + sub.text, row, words}, ""
	case what == 'r':
		return nil, r.found(path+" "+sub.text, r.verb(row, sub.text, words, s))
	case row.marks["help"] && (what == 0 || what == '!') && len(words) == 1 && (words[0].is("--help") || words[0].is("-help") && row.isListed("-help")):
		return nil, r.found(path+" "+sub.text, "")
	}
	return nil, r.found(path, probes.Shown(sub.text))
}

// verb judges what is behind a verb that reads.
func (r *reader) verb(above *row, verb string, words []word, s *scope) string {
	leaf := *above
	leaf.kind = anything
	leaf.do = nil
	p, why := r.parse(&leaf, s, words)
	if why != "" {
		return why
	}
	if above.name == "aws *" {
		if why := awsOutput(above, verb, words); why != "" {
			return why
		}
	}
	return r.leaf(&leaf, p, s)
}

// found returns why a command is more than a read, with its name, or notes it.
func (r *reader) found(path, why string) string {
	if why != "" {
		return probes.Shown(path) + " with " + why
	}
	r.note(path)
	return ""
}

// leaf judges the options and operands of a command that has no more subcommands.
func (r *reader) leaf(row *row, p parsed, s *scope) string {
	if p.has("--help") && !p.wild {
		return ""
	}
	if row.do != nil {
		if why := row.do(r, row, p, s); why != "" {
			return why
		}
	}
	if row.kind == writing {
		return r.written(row, p, s)
	}
	if why := r.filesFault(row, p, s, row.kind != urls); why != "" {
		return why
	}
	if row.marks["known"] {
		for _, w := range p.operands {
			if strings.Contains(w.text, unknown) {
				return "the word " + shown(w) + ", which may give something away"
			}
		}
	}
	if why := showsSecret(row, p); why != "" {
		return why
	}
	switch row.kind {
	case nothing:
		if len(p.operands) > 0 {
			return shown(p.operands[0])
		}
	case matched:
		texts := make([]string, len(p.operands))
		for i, w := range p.operands {
			texts[i] = w.text
			if w.many || strings.Contains(w.text, "\n") {
				return "the operand " + shown(w)
			}
		}
		if !row.shape.MatchString(strings.Join(texts, "\n")) {
			return "an operand that may do more than read"
		}
	case urls:
		return urlsFault(p.operands)
	}
	return ""
}

// files returns the operands of a command that may name files.
func (p *parsed) files(row *row) []word {
	if row.marks["pattern"] && len(p.operands) > 0 && !p.has("-e", "-f", "--regexp", "--file", "--expression") {
		return p.operands[1:]
	}
	return p.operands
}

// showsSecret returns why a command may not show the files that its words name.
func showsSecret(row *row, p parsed) string {
	if row.marks["names"] {
		return ""
	}
	for _, w := range p.files(row) {
		if why := cmp.Or(secretFile(w), secretFolder(w)); why != "" {
			return why
		}
	}
	for _, o := range p.options {
		if o.has {
			if why := secretFile(o.value); why != "" {
				return why
			}
		}
	}
	return ""
}

func urlsFault(targets []word) string {
	for _, target := range targets {
		if strings.Contains(target.text, unknown) || target.many && !target.glob || !strings.Contains(target.text, "://") || strings.ContainsAny(target.text, "{}[]") {
			return "something other than a plain URL"
		}
		checked := target.text
		if rest, ok := strings.CutPrefix(checked, "ftp"); ok { // a GET, of a file or a folder
			checked = "http" + rest
		}
		if why := probes.URLFault("GET", checked); why != "" {
			return why
		}
		if why := metadataHost(target.text); why != "" {
			return why
		}
	}
	return ""
}

// inner judges the command that a command runs.
func (r *reader) inner(row *row, path string, p parsed, s *scope) string {
	if len(p.operands) == 0 && p.has("--help", "--version") {
		return r.found(path, "")
	}
	if row.do != nil {
		if why := row.do(r, row, p, s); why != "" {
			return probes.Shown(path) + " with " + why
		}
	}
	rest := p.operands
	if len(rest) == 0 {
		if row.marks["alone"] {
			r.note(path)
			return ""
		}
		return probes.Shown(path) + " with nothing behind it"
	}
	if below := commands()[path+" "+rest[0].text]; below != nil && rest[0].known() && !strings.Contains(rest[0].text, " ") {
		return r.judge(below, rest[1:], s)
	}
	if len(rest) <= row.skip {
		return probes.Shown(path) + " without a command"
	}
	for _, w := range rest[:row.skip] {
		if w.many || w.dash {
			return probes.Shown(path) + " with " + shown(w)
		}
	}
	r.note(path)
	return r.call(rest[row.skip:], nil, s)
}
