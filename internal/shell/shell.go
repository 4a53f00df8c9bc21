// Package shell judges a command line for a shell: whether everything that it runs only reads. It parses the text,
// follows it as a shell would, and looks each command up in tables. It never runs anything.
//
// Package preflight/probe offers it to hosts. The files are: syntax.go, which follows lists, loops and redirections;
// words.go, variables.go and arithmetic.go, which make the words that a command gets; call.go, which judges a command by
// its row in the tables that table.go reads, with options.go; and a file for each kind of command that has a language
// of its own.
package shell

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/paths"
	"github.com/fairlead-go/fairlead/internal/probes"
	"mvdan.cc/sh/v3/syntax"
)

// Longer, deeper or larger texts are asked about.
const (
	maxDepth    = 100
	maxCommands = 128
	maxSigns    = 64 // that end a command, outside of here-documents: what is read in 0.2 ms
	maxWords    = 1024
	maxScripts  = 64 << 10
	maxReason   = 400
)

// Shell judges a command line for a POSIX-like shell, as package preflight/probe documents.
func Shell(text string) probes.Verdict {
	return judged(&reader{}, text)
}

func judged(r *reader, text string) probes.Verdict {
	if why := r.whole(text); why != "" {
		if len(why) > maxReason { // it has names of the text
			why = strings.ToValidUTF8(why[:maxReason], "") + "…"
		}
		return probes.Harmful(why)
	}
	return r.verdict(cmp.Or(strings.Join(r.names, ", "), "no command, only words of the shell"))
}

// A reader judges one command line.
type reader struct {
	names     []string // the commands that were found, for the verdict
	depth     int
	commands  int
	functions map[string]bool // that are declared
	byCalls   scope           // the variables that any of them may assign
	scripts   int             // bytes of programs inside the text

	roots   *paths.Roots // nil if the host gave none
	windows bool         // the shell may be one of Windows
	wrote   string       // the first file that is written below a root
	strays  bool         // a function changes the folder
	left    bool         // the folder was changed

	folder string // that the text has changed to last, as far as its words are known
	open   string // one of those that everyone may write to, "" for none; it stays, since a later change may fail

	exported   []variable     // what every later command has in its environment
	judgedWith map[string]int // how many of them a function was judged with
	again      int            // loops and functions around what is read, which runs more than once
	trapped    bool           // there is a trap, which runs at another time
}

func (r *reader) whole(text string) string {
	if why := probes.Plain(text); why != "" {
		return why
	}
	s := newScope()
	if r.roots != nil {
		s.folders = []string{r.roots.Folder}
	}
	return r.program(text, s)
}

// program judges the text of a program in the language of the shell.
func (r *reader) program(text string, s *scope) string {
	if !strings.Contains(text, "<<") && strings.Count(text, ";")+strings.Count(text, "|")+strings.Count(text, "&")+strings.Count(text, "\n") > maxSigns {
		return "more commands than are read"
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(text), "")
	switch {
	case err != nil:
		return "a malformed command line"
	case len(file.Stmts) == 0:
		return "there is no command"
	}
	for _, c := range file.Last {
		if !loosely.MatchString(c.Text) || strings.Contains(c.Text, " -") {
			return "a comment, which shells do not all know"
		}
	}
	return r.stmts(file.Stmts, s)
}

// script judges a word that a command runs as a program of the shell.
func (r *reader) script(w word, s *scope) string {
	if !w.known() {
		return "a script that is not known"
	}
	if r.scripts += len(w.text); r.scripts > maxScripts {
		return "more scripts than are read"
	}
	if r.depth += 10; r.depth > maxDepth {
		return "more levels than are read"
	}
	defer func() { r.depth -= 10 }()
	inner := newScope()
	for name := range s.vars {
		inner.vars[name] = anyValue
	}
	inner.folders = s.folders
	return r.program(w.text, inner)
}

func (r *reader) note(name string) {
	if len(r.names) < 8 && !slices.Contains(r.names, name) { // the rest of a long line adds nothing
		r.names = append(r.names, name)
	}
}
