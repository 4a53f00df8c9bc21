package toolname

import "strings"

// Match reports whether the text matches the pattern, in which * stands for any
// text.
func Match(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		var part string
		if part, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return false
}
