package trim

import (
	"encoding/json"
	"unicode/utf8"
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

// of returns the weight of a rune that is not ASCII; an ASCII character weighs 1.
func (u Unit) of(size int) int {
	switch u {
	case Bytes:
		return size
	case Tokens:
		return 4
	}
	return 1
}

// Text returns the weight of s as it is, or something above most.
func (u Unit) Text(s string, most int) int {
	n := 0
	for i := 0; i < len(s) && n <= most; {
		if s[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		n += u.of(size)
		i += size
	}
	return n
}

// quoted returns the weight of s as JSON writes it, or something above most.
func (u Unit) quoted(s string, most int) int {
	n := 2
	for i := 0; i < len(s) && n <= most; {
		weight, size := u.escaped(s[i:])
		n += weight
		i += size
	}
	return n
}

// escaped returns the weight of the first rune of s as jsontree.Encode writes it, and its
// length.
func (u Unit) escaped(s string) (weight, size int) {
	switch c := s[0]; {
	case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
		return 2, 1
	case c < ' ':
		return len(`\u0000`), 1
	case c < utf8.RuneSelf:
		return 1, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
		return len(`\u0000`), size
	}
	return u.of(size), size
}

// JSON returns the weight of a value as jsontree.Encode writes it, or something above most.
// It looks at no more than that much of the value.
func (u Unit) JSON(v any, most int) int {
	switch v := v.(type) {
	case nil:
		return len("null")
	case bool:
		if v {
			return len("true")
		}
		return len("false")
	case json.Number:
		return len(v)
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
	return most + 1 // jsontree.Decode makes no other
}
