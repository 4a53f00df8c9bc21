package canonical_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// A jsonValue is a JSON value that can be written in many ways: nil, true, false, a
// jsonNumber, a string, a []jsonValue or a map[string]jsonValue.
type jsonValue any

// A jsonNumber is the literal of a number. 1 and 1.0 are two.
type jsonNumber string

// anyObject draws an object of few and awkward members.
func anyObject() *rapid.Generator[map[string]jsonValue] {
	return rapid.Custom(func(t *rapid.T) map[string]jsonValue { return object(t, 3) })
}

func object(t *rapid.T, depth int) map[string]jsonValue {
	return rapid.MapOfN(words, rapid.Custom(func(t *rapid.T) jsonValue { return value(t, depth) }), 0, 4).Draw(t, "object")
}

var words = rapid.OneOf(
	rapid.SampledFrom([]string{"", "id", "ID", "a", "b", "a\"b", "\\", "/", "<&>", "\x00", "\u2028", "\u2029", "é", "e\u0301", "\U0001F600", "\ufffd", "__proto__"}),
	rapid.String(),
)

var drawnNumbers = rapid.SampledFrom([]jsonNumber{
	"0", "-0", "0.0", "1", "1.0", "1e0", "10e-1", "9007199254740992", "9007199254740993", "-12345678901234567890", "0.1", "1E5", "1e+5", "5e-324",
})

func value(t *rapid.T, depth int) jsonValue {
	kinds := 5
	if depth == 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]jsonValue{nil, true, false}).Draw(t, "literal")
	case 1:
		return drawnNumbers.Draw(t, "number")
	case 4:
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) jsonValue { return value(t, depth-1) }), 0, 3).Draw(t, "list")
	case 5:
		return object(t, depth-1)
	default:
		return words.Draw(t, "text")
	}
}

// writing draws one of the ways to write a value: the order of the members, white
// space, and escapes.
func writing(t *rapid.T, v jsonValue) string {
	var b strings.Builder
	write(t, &b, v)
	return b.String()
}

func write(t *rapid.T, b *strings.Builder, v jsonValue) {
	space := rapid.SampledFrom([]string{"", "", " ", "\n", "\t\r "})
	b.WriteString(space.Draw(t, "space"))
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case jsonNumber:
		b.WriteString(string(v))
	case string:
		quote(t, b, v)
	case []jsonValue:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(t, b, e)
		}
		b.WriteByte(']')
	case map[string]jsonValue:
		b.WriteByte('{')
		for i, name := range rapid.Permutation(slices.Sorted(maps.Keys(v))).Draw(t, "order") {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(space.Draw(t, "space"))
			quote(t, b, name)
			b.WriteString(space.Draw(t, "space"))
			b.WriteByte(':')
			write(t, b, v[name])
		}
		b.WriteByte('}')
	}
	b.WriteString(space.Draw(t, "space"))
}

func quote(t *rapid.T, b *strings.Builder, s string) {
	escape := rapid.Bool()
	b.WriteByte('"')
	for _, r := range s { // invalid UTF-8 becomes U+FFFD
		short := strings.IndexRune("\"\\/\b\f\n\r\t", r)
		switch {
		case short >= 0 && r != '/' && escape.Draw(t, "short"):
			fmt.Fprintf(b, `\%c`, `"\/bfnrt`[short])
		case r < 0x20 || r == '"' || r == '\\' || r < 0x10000 && escape.Draw(t, "escape"):
			fmt.Fprintf(b, []string{`\u%04x`, `\u%04X`}[rapid.IntRange(0, 1).Draw(t, "case")], r)
		case r >= 0x10000 && escape.Draw(t, "pair"):
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// sameValue reports whether two values mean the same.
func sameValue(a, b jsonValue) bool {
	switch a := a.(type) {
	case []jsonValue:
		b, ok := b.([]jsonValue)
		return ok && slices.EqualFunc(a, b, sameValue)
	case map[string]jsonValue:
		b, ok := b.(map[string]jsonValue)
		return ok && maps.EqualFunc(a, b, sameValue)
	}
	switch b.(type) {
	case []jsonValue, map[string]jsonValue:
		return false
	}
	return a == b
}
