package shell

import (
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
		if len(front) > 0 {
			return "a variable in front of a function"
		}
		for name := range r.byCalls.vars { // a function may call another one
			s.vars[name] = anyValue
		}
		return ""
	}
	row := commands()[program(name.text)]
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
	return r.judge(row, words[1:], s)
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

// judge judges the words behind a command by its row, and those of its subcommands.
func (r *reader) judge(row *row, words []word, s *scope) string {
	path := row.name
	for {
		if len(words) == 1 && row.kind != runs && (words[0].is("--help") || words[0].is("--version") && !strings.Contains(path, " ")) && path != "echo" && path != "printf" {
			r.note(path)
			return ""
		}
		if raw := rawHandlerOf(path); raw != nil {
			return r.found(path, raw(r, row, words, s))
		}
		if len(words) > 0 && words[0].known() && !strings.Contains(words[0].text, " ") { // also brew --prefix
			if below := commands()[path+" "+words[0].text]; below != nil {
				path, row, words = below.name, below, words[1:]
				continue
			}
		}
		switch row.kind {
		case asks:
			return "the command " + probes.Shown(path)
		case secret:
			return probes.Shown(path) + ", which prints a secret"
		}
		p, why := r.parse(row, s, words)
		if why != "" {
			return probes.Shown(path) + " with " + why
		}
		switch row.kind {
		case runs:
			return r.inner(row, path, p, s)
		case group, menu, verbs:
		default:
			return r.found(path, r.leaf(row, p, s))
		}
		if len(p.operands) == 0 {
			if row.kind == menu || p.has("--help", "--version", "-help", "-version", "-h", "-V") {
				r.note(path)
				return ""
			}
			return probes.Shown(path) + " with nothing behind it"
		}
		if row.do != nil {
			if why := row.do(r, row, p, s); why != "" {
				return probes.Shown(path) + " with " + why
			}
		}
		sub := p.operands[0]
		if !sub.known() || strings.Contains(sub.text, " ") {
			return probes.Shown(path) + " with the subcommand " + shown(sub)
		}
		if below := commands()[path+" "+sub.text]; below != nil {
			path, row, words = below.name, below, p.operands[1:]
			continue
		}
		what := byte(0)
		if row.kind == verbs {
			what = row.word(sub.text)
		}
		if what == 0 && row.kind == verbs && within(path+" "+sub.text) {
			what = '/'
		}
		switch {
		case what == '~':
			words = p.operands[1:]
		case what == '/':
			if below := commands()[row.name+" *"]; below != nil { // the words behind any noun
				row = below
			}
			path, words = path+" "+sub.text, p.operands[1:]
		case what == 'r':
			path += " " + sub.text
			return r.found(path, r.verb(row, p.operands[1:], s))
		case row.marks["help"] && what == 0 && len(p.operands) == 2 && p.operands[1].is("--help"):
			r.note(path + " " + sub.text)
			return ""
		default:
			return probes.Shown(path) + " with " + probes.Shown(sub.text)
		}
	}
}

// verb judges what is behind a verb that reads.
func (r *reader) verb(above *row, words []word, s *scope) string {
	leaf := *above
	leaf.kind = anything
	leaf.do = nil
	p, why := r.parse(&leaf, s, words)
	if why != "" {
		return why
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
	if row.marks["known"] {
		for _, w := range p.operands {
			if strings.Contains(w.text, unknown) {
				return "the word " + shown(w) + ", which may give something away"
			}
		}
	}
	if !row.marks["names"] {
		files := p.operands
		if row.marks["pattern"] && len(files) > 0 && !p.has("-e", "-f", "--regexp", "--file", "--expression") {
			files = files[1:]
		}
		for _, w := range files {
			if why := secretFile(w); why != "" {
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
