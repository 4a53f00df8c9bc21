package trim

import (
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/jsontree"
)

// weigh returns the weight of a rune as it is, or as jsontree.Encode writes it.
func weigh(r rune, size int, inJSON bool) int {
	switch {
	case inJSON && strings.ContainsRune("\"\\\n\r\t\b\f", r):
		return 2
	case inJSON && (r < ' ' || r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029'):
		return len(`\u0000`)
	}
	return 1
}

// scan returns where the part of s ends that weighs at most that much, and the weight
// of all of s, or something above most.
func scan(s string, most int, inJSON bool) (end, weight int) {
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if weight += weigh(r, size, inJSON); weight > most {
			break
		}
		end += size
	}
	return end, weight
}

// Text returns the weight of s as it is, or something above most.
func Text(s string, most int) int {
	_, weight := scan(s, most, false)
	return weight
}

// quoted returns the weight of s as JSON writes it, or something above most.
func quoted(s string, most int) int {
	_, weight := scan(s, most-2, true)
	return weight + 2
}

// JSON returns the weight of a value as jsontree.Encode writes it, or something above most.
// It looks at no more than that much of the value.
func JSON(v any, most int) int {
	switch v := v.(type) {
	case string:
		return quoted(v, most)
	case Whole:
		return quoted(string(v), most)
	case []any:
		n := 2 + max(0, len(v)-1)
		for _, e := range v {
			if n > most {
				break
			}
			n += JSON(e, most-n)
		}
		return n
	case map[string]any:
		n := 2 + max(0, len(v)-1)
		for k, e := range v {
			if n > most {
				break
			}
			n += quoted(k, most-n) + 1
			n += JSON(e, most-n)
		}
		return n
	}
	return len(jsontree.Encode(v)) // null, a boolean or a number
}
