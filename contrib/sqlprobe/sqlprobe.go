// Package sqlprobe reads SQL with the grammar of the database that will run it and reports whether a
// call reads, adds or does anything else. Its probes are values of [preflight.Probe]: PostgreSQL uses
// PostgreSQL's own parser, compiled to WebAssembly, and MySQL that of TiDB.
//
// A statement is a read if every part of its tree and every function is in a list of reads. So a new
// feature of a database is asked about.
//
// The probes see the text, not the database: they cannot see the effects of a view, a trigger, a rule, an
// operator, a cast or a user-defined function with a listed name. If that matters, give the server a role
// that cannot write.
package sqlprobe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the plain values of the tree
)

const (
	// maxText is the maximum size of a statement, in bytes.
	maxText = 16 << 10
	// maxParts bounds the words and signs of a statement, since parsers and walks are recursive.
	maxParts = 1000
)

var reads, adds, destroys = verdict(annotation.ReadOnly), verdict(annotation.Write), verdict(annotation.Destructive)

func verdict(of func() annotation.Annotations) func(why string) preflight.Verdict {
	return func(why string) preflight.Verdict { return preflight.Verdict{Annotations: of(), Why: why} }
}

// only returns the one statement of a text, or why there is not one that can be judged.
func only[T any](text, dialect string, parse func(text string) ([]T, error)) (stmt T, why string) {
	if why := unfit(text); why != "" {
		return stmt, why
	}
	stmts, err := parse(text)
	switch {
	case err != nil:
		return stmt, fmt.Sprintf("%s does not parse it: %.60q", dialect, err.Error())
	case len(stmts) == 0:
		return stmt, "no statement"
	case len(stmts) > 1:
		return stmt, "a second statement"
	}
	return stmts[0], ""
}

// unfit returns why a text cannot be parsed in any dialect, "" if it can.
func unfit(text string) string {
	if len(text) > maxText {
		return fmt.Sprintf("%d bytes are more than is read", len(text))
	}
	parts, word := 0, false
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			return fmt.Sprintf("byte %d is not UTF-8", i)
		case r != '\n' && r != '\t' && !unicode.IsPrint(r): // and a lone CR, which ends a comment for some
			return fmt.Sprintf("the character %U", r)
		}
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
		if r > ' ' && (!letter || !word) {
			parts++
		}
		word = letter
	}
	if parts > maxParts {
		return fmt.Sprintf("%d words and signs are more than is read", parts)
	}
	// Whether a backslash escapes a quote is a setting of the server.
	if strings.Contains(text, `\'`) || strings.Contains(text, `\"`) {
		return "a backslash before a quote"
	}
	return ""
}

func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func words(text string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
