package safetext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cut returns text that [Text] or [Line] made, shortened to at most limit bytes, between runes and never inside an
// escape. It ends in "…" and a mark with the number of missing bytes, which the text itself cannot contain. A limit
// too small for the mark gives the mark alone.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	// The mark gets no longer when more is cut from a text of the same length.
	room := limit - len(mark(len(s)))
	end := 0
	for {
		n := token(s[end:])
		if end+n > room {
			break
		}
		end += n
	}
	return s[:end] + mark(len(s)-end)
}

// mark is what stands in the place of n bytes.
func mark(n int) string { return fmt.Sprintf(`…⟦%d bytes cut⟧`, n) }

// token returns the length of the rune, the escape or the count that s begins with.
func token(s string) int {
	if end := strings.Index(s, "⟧"); end > 0 && strings.HasPrefix(s, "⟦") {
		return end + len("⟧")
	}
	if len(s) < 2 || s[0] != '\\' {
		_, n := utf8.DecodeRuneInString(s)
		return max(n, 1)
	}
	n := map[byte]int{'x': 4, 'u': 6, 'U': 10}[s[1]]
	return min(max(n, 2), len(s))
}
