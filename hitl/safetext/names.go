package safetext

import (
	"strings"
	"unicode"
)

// SameName reports whether two names are one to a reader: case, white space around and
// between the words, and characters that cannot be seen make no difference. If one of them
// is written with combining marks, letters with marks count as equal.
func SameName(a, b string) bool {
	a, b = seen(a), seen(b)
	marked := strings.ContainsFunc(a+b, func(r rune) bool { return unicode.Is(unicode.Mn, r) })
	return strings.EqualFold(a, b) || marked && strings.EqualFold(bare(a), bare(b))
}

// bare returns a name with one sign for each letter that is outside ASCII or has a mark of its own.
func bare(name string) string {
	var signs []rune
	for _, r := range name {
		switch {
		case unicode.Is(unicode.Mn, r) && len(signs) > 0:
			signs[len(signs)-1] = '?'
		case r > unicode.MaxASCII:
			signs = append(signs, '?')
		default:
			signs = append(signs, r)
		}
	}
	return string(signs)
}

// seen returns a name as a reader sees it: with one space between words, and without what is invisible.
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
