package safetext

import (
	"strings"
	"unicode"
)

// SameName reports whether two names are one to a reader: case, white space around and
// between the words, and characters that cannot be seen make no difference.
func SameName(a, b string) bool { return strings.EqualFold(seen(a), seen(b)) }

func seen(name string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case Invisible(r):
			return -1
		}
		return r
	}, name)), " ")
}
