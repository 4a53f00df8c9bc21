package shell

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// TestWordsOfACommand compares what a command gets: · stands for text that is not known, and a ! behind a word for one that
// may become an option.
func TestWordsOfACommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`a "b c" 'd e' f\ g`:             "a|b c|d e|f g",
		`x=1; a $x "$x" ${x} $x$x`:       "a|1|1|1|11",
		`x="a b"; a $x "$x"`:             "a|a|b|a b",
		`a $y "$y" ./"$y" -$y`:           "a|·!|·!|./·|-·!",
		`a {b,c}d {1..3} {x} HEAD@{1}`:   "a|bd|cd|1|3|{x}|HEAD@{1}",
		`a -{b,c}`:                       "a|-b|-c",
		`a ~/x $HOME/x "$HOME"/y`:        "a|~/x|~/x|~/y",
		`a *.go b*.go "*" \*`:            "a|*.go!|b*.go|*|*",
		`a $(echo b c) "$(echo b c)"`:    "a|b|c|b c",
		`a $(ls) "$(pwd)" $((1+2))`:      "a|·!|/·|·",
		`a [ b [c] "[d]"`:                "a|[|b|[c]!|[d]",
		`a $'b\tc' ""`:                   "a|b\tc|",
		`for i in b c; do a $i; done`:    "a|·",
		`for i in b -c; do a $i; done`:   "a|·!",
		`for i in b; do a $i; done`:      "a|b",
		`x=b; x=$x-c; a $x`:              "a|b-c",
		`x=b; if d; then x=-c; fi; a $x`: "a|·!",
		`x=b; (x=-c); a $x`:              "a|b",
		`x=b; d && x=c; a $x`:            "a|·",
		`x=b; unset x; a "$x"`:           "a|·!",
		`a "$@" "$1" $# $?`:              "a|·!|·!|·|·",
		`a ${x:-b} ${y:+c}`:              "a|·!|·!",
	} {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := wordsOf(t, file); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// wordsOf follows a text up to the command a, and returns its words.
func wordsOf(t *testing.T, file *syntax.File) (found string) {
	t.Helper()
	r, s := &reader{}, newScope()
	var follow func(list []*syntax.Stmt, s *scope)
	follow = func(list []*syntax.Stmt, s *scope) {
		for _, stmt := range list {
			switch c := stmt.Cmd.(type) {
			case *syntax.CallExpr:
				if len(c.Args) > 0 && c.Args[0].Lit() == "a" {
					words, why := r.words(c.Args, s)
					if why != "" {
						t.Error(why)
					}
					var texts []string
					for _, w := range words {
						text := strings.ReplaceAll(w.text, unknown, "·")
						if w.wild() {
							text += "!"
						}
						texts = append(texts, text)
					}
					found = strings.Join(texts, "|")
					continue
				}
				if _, why := r.assign(c.Assigns, s, len(c.Args) > 0); why != "" {
					t.Error(why)
				}
				if len(c.Args) > 1 && c.Args[0].Lit() == "unset" {
					s.vars[c.Args[1].Lit()] = anyValue
				}
			case *syntax.ForClause:
				items, _ := r.words(c.Loop.(*syntax.WordIter).Items, s)
				s.vars[c.Loop.(*syntax.WordIter).Name.Value] = oneOf(items, false)
				follow(c.Do, s)
			case *syntax.IfClause:
				inner := s.clone()
				follow(c.Then, inner)
				s.join(inner)
			case *syntax.Subshell:
				follow(c.Stmts, s.clone())
			case *syntax.BinaryCmd:
				inner := s.clone()
				follow([]*syntax.Stmt{c.Y}, inner)
				s.join(inner)
			}
		}
	}
	follow(file.Stmts, s)
	return found
}
