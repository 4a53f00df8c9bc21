package shell

import (
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
	"mvdan.cc/sh/v3/syntax"
)

// A Part is one command of a command line, as it is written there, with the verdict on it alone.
type Part struct {
	Text    string
	Verdict probes.Verdict
}

// settings are the commands after which a later command of the same line may be another one than its name.
var settings = map[string]bool{
	".": true, "alias": true, "builtin": true, "declare": true, "enable": true, "eval": true, "exec": true, "export": true, "hash": true,
	"local": true, "read": true, "readonly": true, "set": true, "shopt": true, "source": true, "trap": true, "typeset": true, "unalias": true, "unset": true,
}

// Parts cuts a command line at its lists and pipes. It returns nil for a line that is one command or cannot be read, and
// for one in which a command can change how a later one reads: by a function, a variable, an alias.
func Parts(text string) []Part {
	if probes.Plain(text) != "" || len(text) > maxScripts {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || file == nil {
		return nil
	}
	plain := true
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl, *syntax.DeclClause, *syntax.LetClause, *syntax.Assign:
			plain = false
		case *syntax.CallExpr:
			for i, word := range n.Args {
				name := strings.ToLower(word.Lit())
				if i == 0 && (name == "" || strings.Contains(name, `\`)) || settings[name] && (i == 0 || n.Args[0].Lit() == "command") {
					plain = false
				}
			}
		}
		return plain
	})
	if !plain {
		return nil
	}
	var parts []Part
	var cut func(s *syntax.Stmt) bool
	cut = func(s *syntax.Stmt) bool {
		if list, ok := s.Cmd.(*syntax.BinaryCmd); ok && len(s.Redirs) == 0 && !s.Negated {
			return cut(list.X) && cut(list.Y)
		}
		for _, r := range s.Redirs {
			if r.Hdoc != nil { // its text is elsewhere
				return false
			}
		}
		begin, end := s.Pos().Offset(), s.End().Offset()
		if begin > end || int(end) > len(text) || len(parts) >= maxCommands {
			return false
		}
		part := strings.TrimRight(text[begin:end], "; \t\n&")
		parts = append(parts, Part{Text: part, Verdict: Shell(part)})
		return true
	}
	for _, s := range file.Stmts {
		if !cut(s) {
			return nil
		}
	}
	if len(parts) < 2 {
		return nil
	}
	return parts
}
