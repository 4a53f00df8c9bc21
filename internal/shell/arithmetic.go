package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic judges an expression of $((…)), ((…)) or an index. A shell evaluates the text of a variable in it as an
// expression again, and with a[$(rm x)] runs a command: so each name must be known to be a number, or to have none.
func (r *reader) arithmetic(expr syntax.ArithmExpr, s *scope) string {
	switch x := expr.(type) {
	case nil:
		return ""
	case *syntax.Word:
		return r.term(x, s)
	case *syntax.ParenArithm:
		return r.arithmetic(x.X, s)
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			return r.counts(x.X, s)
		}
		return r.arithmetic(x.X, s)
	case *syntax.BinaryArithm:
		if assigns(x.Op) {
			if why := r.arithmetic(x.Y, s); why != "" {
				return why
			}
			if x.Op == syntax.Assgn {
				return r.sets(x.X, s)
			}
			return r.counts(x.X, s)
		}
		if why := r.arithmetic(x.X, s); why != "" {
			return why
		}
		return r.arithmetic(x.Y, s)
	}
	return "an expression that only some shells know"
}

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn, syntax.AndAssgn,
		syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// term judges a number, a name or a substitution.
func (r *reader) term(w *syntax.Word, s *scope) string {
	if name := w.Lit(); name != "" {
		if isNumber(name) || isBased(name) {
			return ""
		}
		if !isName(name) {
			return "an expression with " + shown(word{text: name})
		}
		if v, ok := s.vars[name]; ok && (v.isNumber() || v.isKnown() && v.text == "") || s.initial(name).number {
			return ""
		}
		return "the variable " + name + " in an expression, which would run a command in its value"
	}
	v, why := r.text(w, s)
	if why != "" {
		return why
	}
	if v.isNumber() {
		return ""
	}
	return "a value in an expression that is not known to be a number"
}

// counts judges x++ and x += 1.
func (r *reader) counts(x syntax.ArithmExpr, s *scope) string {
	if why := r.arithmetic(x, s); why != "" {
		return why
	}
	return r.sets(x, s)
}

// sets judges x = 1.
func (r *reader) sets(x syntax.ArithmExpr, s *scope) string {
	w, ok := x.(*syntax.Word)
	if !ok || !isName(w.Lit()) {
		return "an assignment in an expression to something that is not a name"
	}
	v := value{text: unknown, number: true}
	if why := assignFault(w.Lit(), v); why != "" {
		return why
	}
	s.vars[w.Lit()] = v
	return ""
}

// index judges what is between the brackets behind a variable.
func (r *reader) index(x syntax.ArithmExpr, s *scope) string {
	if w, ok := x.(*syntax.Word); ok {
		if lit := w.Lit(); lit == "@" || lit == "*" {
			return ""
		}
	}
	return r.arithmetic(x, s)
}

// key judges what is between the brackets of a variable: a text if the variable was declared so, or else an expression.
func (r *reader) key(x syntax.ArithmExpr, s *scope, assoc bool) string {
	if w, ok := x.(*syntax.Word); ok && assoc {
		_, why := r.text(w, s)
		return why
	}
	return r.index(x, s)
}

func isName(text string) bool {
	for i, c := range text {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

// isBased reports whether a text is a number such as 0x1f or 16#ff.
func isBased(text string) bool {
	return text[0] >= '0' && text[0] <= '9' && strings.Trim(text, "0123456789abcdefABCDEFxX#") == ""
}

// test judges an expression of [[ … ]].
func (r *reader) test(expr syntax.TestExpr, s *scope) string {
	switch x := expr.(type) {
	case *syntax.Word:
		_, why := r.text(x, s)
		return why
	case *syntax.ParenTest:
		return r.test(x.X, s)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w, ok := x.X.(*syntax.Word)
			if !ok || !isName(w.Lit()) {
				return "a test of a variable that is not a name"
			}
			return ""
		}
		return r.test(x.X, s)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsAfter: // a shell that does not know [[ writes a file
			return "the sign > in a test, which some shells take for a redirection"
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				w, ok := side.(*syntax.Word)
				if !ok {
					return "a comparison of more than words"
				}
				if why := r.term(w, s); why != "" {
					return why
				}
			}
			return ""
		}
		if why := r.test(x.X, s); why != "" {
			return why
		}
		return r.test(x.Y, s)
	}
	return "a test that only some shells know"
}

// countNames are names that no program has, which a shell without ((…)) would run: it reads a subshell in a subshell.
var countNames = strings.Fields("count counter idx index num sum total max min len lines attempt attempts tries retries step offset limit pass fail failed passed errors")

// nested returns why ((…)) may do something in a shell that reads it as commands.
func nested(expr syntax.ArithmExpr) (why string) {
	syntax.Walk(expr, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryArithm:
			switch n.Op {
			case syntax.Gtr, syntax.Geq, syntax.Shr, syntax.ShrAssgn:
				why = "the sign > in an expression, which some shells take for a redirection"
			}
		case *syntax.Lit:
			if name := n.Value; isName(name) && len(name) > 1 && !slices.Contains(countNames, name) {
				why = "the name " + name + " in an expression, which some shells run"
			}
		}
		return why == ""
	})
	return why
}
