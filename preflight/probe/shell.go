package probe

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/fairlead-go/fairlead/preflight"
)

// Shell reads a command line for a POSIX-like shell: sh, bash, dash, ksh, zsh,
// fish. It is a read where every command in it is in a table of commands that
// read, each with only flags that the table has for it, joined by nothing but
// |, &&, || and ;. All else is destructive: other commands, variables,
// substitutions, assignments, functions, redirections (save to /dev/null and
// 2>&1), the background, comments, backslashes, braces.
//
// A shell's aliases, a PATH that has somebody else's ls in front, and what a
// program's own configuration makes it do are out of its sight. The shells of
// Windows end their quotes elsewhere: do not use it for them.
func Shell(text string) preflight.Verdict {
	if why := plain(text); why != "" {
		return harmful("%s", why)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	switch {
	case err != nil:
		return harmful("what is no command line")
	case len(file.Stmts) == 0:
		return harmful("there is no command")
	case len(file.Last) > 0:
		return harmful("a comment, which shells do not all know")
	}
	var names []string
	for _, stmt := range file.Stmts {
		if why := shellStmt(stmt, &names); why != "" {
			return harmful("%s", why)
		}
	}
	return harmless(strings.Join(names, ", "))
}

// shellStmt says what in a statement is more than a read, and appends the names of
// the commands that it found to be one.
func shellStmt(stmt *syntax.Stmt, names *[]string) string {
	switch {
	case len(stmt.Comments) > 0:
		return "a comment, which shells do not all know"
	case stmt.Background || stmt.Coprocess || stmt.Disown:
		return "a command in the background"
	case stmt.Negated:
		return "the sign !"
	}
	for _, r := range stmt.Redirs {
		if !shellSilences(r) {
			return "the redirection " + shown(r.Op.String())
		}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt && cmd.Op != syntax.Pipe {
			return "the sign " + shown(cmd.Op.String())
		}
		if why := shellStmt(cmd.X, names); why != "" {
			return why
		}
		return shellStmt(cmd.Y, names)
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
			return "an assignment"
		}
		name, why := shellCall(cmd.Args)
		if len(*names) < 8 && !slices.Contains(*names, name) { // the rest of a long line is no news
			*names = append(*names, name)
		}
		return why
	}
	return "more than plain commands"
}

// shellSilences reports whether a redirection only joins the two outputs or throws
// one away.
func shellSilences(r *syntax.Redirect) bool {
	from := ""
	if r.N != nil {
		from = r.N.Value
	}
	if from != "" && from != "1" && from != "2" || r.Hdoc != nil {
		return false
	}
	switch to := r.Word.Lit(); r.Op {
	case syntax.RdrOut:
		return to == "/dev/null"
	case syntax.DplOut:
		return to == "1" || to == "2"
	}
	return false
}

// shellWord is one word of a command as the program gets it.
type shellWord struct {
	text string
	glob bool // it begins with what the shell replaces by names of files, which may look like flags
	many bool // it holds such a thing, and may become several words
}

var (
	// shellPlain is what stands for itself outside quotes in every shell that we read.
	shellPlain = regexp.MustCompile(`^[\pL\pM\pN_./:,@%+=*?\[\]~-]*$`)
	// shellEscape is what a backslash or a ! makes of double quotes in some shells.
	shellEscape = regexp.MustCompile("[$`!]|\\\\[\\\\\"\n]|\\\\$")
)

// shellWords returns the words of a command, or says which one is not plain text.
func shellWords(args []*syntax.Word) (words []shellWord, why string) {
	for _, arg := range args {
		var w shellWord
		for _, part := range arg.Parts {
			text, ok := shellPart(part)
			if !ok {
				return nil, "a word that the shell makes something else of"
			}
			if _, bare := part.(*syntax.Lit); bare {
				at := strings.IndexAny(text, "*?[")
				w.glob = w.glob || w.text == "" && at == 0
				w.many = w.many || at >= 0
			}
			w.text += text
		}
		words = append(words, w)
	}
	return words, ""
}

func shellPart(part syntax.WordPart) (text string, ok bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return p.Value, shellPlain.MatchString(p.Value)
	case *syntax.SglQuoted:
		// fish lets a backslash escape the closing quote.
		return p.Value, !p.Dollar && !strings.HasSuffix(p.Value, `\`)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			lit, is := inner.(*syntax.Lit)
			if !is || shellEscape.MatchString(lit.Value) {
				return "", false
			}
			text += lit.Value
		}
		return text, !p.Dollar
	}
	return "", false
}
