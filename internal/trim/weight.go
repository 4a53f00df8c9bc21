package trim

import (
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/jsontree"
)

// A Unit is what is counted. All weights are counted in characters, bytes or, for
// Tokens, quarters of one.
type Unit uint8

// The units.
const (
	// Characters are Unicode's code points.
	Characters Unit = iota
	// Bytes are those of UTF-8.
	Bytes
	// Tokens are an estimate that needs no model: four ASCII characters are a token,
	// and so is every other character.
	Tokens
)

// Scale is how many weights one unit has.
func (u Unit) Scale() int {
	if u == Tokens {
		return 4
	}
	return 1
}

// weigh returns the weight of a rune as it is, or as jsontree.Encode writes it.
func (u Unit) weigh(r rune, size int, inJSON bool) int {
	switch {
	case inJSON && strings.ContainsRune("\"\\\n\r\t\b\f", r):
		return 2
	case inJSON && (r < ' ' || r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029'):
		return len(`\u0000`)
	case u == Bytes:
		return size
	case u == Tokens && r >= utf8.RuneSelf:
		return 4
	}
	return 1
}

// scan returns where the part of s ends that weighs at most that much, and the weight
// of all of s, or something above most.
func (u Unit) scan(s string, most int, inJSON bool) (end, weight int) {
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if weight += u.weigh(r, size, inJSON); weight > most {
			break
		}
		end += size
	}
	return end, weight
}

// Text returns the weight of s as it is, or something above most.
func (u Unit) Text(s string, most int) int {
	_, weight := u.scan(s, most, false)
	return weight
}

// quoted returns the weight of s as JSON writes it, or something above most.
func (u Unit) quoted(s string, most int) int {
	_, weight := u.scan(s, most-2, true)
	return weight + 2
}

// JSON returns the weight of a value as jsontree.Encode writes it, or something above most.
// It looks at no more than that much of the value.
func (u Unit) JSON(v any, most int) int {
	switch v := v.(type) {
	case string:
		return u.quoted(v, most)
	case Whole:
		return u.quoted(string(v), most)
	case []any:
		n := 2 + max(0, len(v)-1)
		for _, e := range v {
			if n > most {
				break
			}
			n += u.JSON(e, most-n)
		}
		return n
	case map[string]any:
		n := 2 + max(0, len(v)-1)
		for k, e := range v {
			if n > most {
				break
			}
			n += u.quoted(k, most-n) + 1
			n += u.JSON(e, most-n)
		}
		return n
	}
	return len(jsontree.Encode(v)) // null, a boolean or a number
}
