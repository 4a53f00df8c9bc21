package mcptest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// A Value is a JSON value that can be written in many ways: nil, true, false, a
// Number, a string, a []Value or a map[string]Value.
type Value any

// A Number is the literal of a number. 1 and 1.0 are two.
type Number string

// Object draws an object of few and awkward members.
func Object() *rapid.Generator[map[string]Value] {
	return rapid.Custom(func(t *rapid.T) map[string]Value { return object(t, 3) })
}

func object(t *rapid.T, depth int) map[string]Value {
	return rapid.MapOfN(words, rapid.Custom(func(t *rapid.T) Value { return value(t, depth) }), 0, 4).Draw(t, "object")
}

var words = rapid.OneOf(
	rapid.SampledFrom([]string{"", "id", "ID", "a", "b", "a\"b", "\\", "/", "<&>", "\x00", "\u2028", "\u2029", "é", "e\u0301", "\U0001F600", "\ufffd", "__proto__"}),
	rapid.String(),
)

var numbers = rapid.SampledFrom([]Number{
	"0", "-0", "0.0", "1", "1.0", "1e0", "10e-1", "9007199254740992", "9007199254740993", "-12345678901234567890", "0.1", "1E5", "1e+5", "5e-324",
})

func value(t *rapid.T, depth int) Value {
	kinds := 5
	if depth == 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]Value{nil, true, false}).Draw(t, "literal")
	case 1:
		return numbers.Draw(t, "number")
	case 4:
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Value { return value(t, depth-1) }), 0, 3).Draw(t, "list")
	case 5:
		return object(t, depth-1)
	default:
		return words.Draw(t, "text")
	}
}

// Write draws one of the ways to write a value: the order of the members, white
// space, and escapes.
func Write(t *rapid.T, v Value) string {
	var b strings.Builder
	write(t, &b, v)
	return b.String()
}

func write(t *rapid.T, b *strings.Builder, v Value) {
	space := rapid.SampledFrom([]string{"", "", " ", "\n", "\t\r "})
	b.WriteString(space.Draw(t, "space"))
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case Number:
		b.WriteString(string(v))
	case string:
		quote(t, b, v)
	case []Value:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(t, b, e)
		}
		b.WriteByte(']')
	case map[string]Value:
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
	for _, r := range s { // what is no UTF-8 becomes U+FFFD
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

// Same reports whether two values mean the same.
func Same(a, b Value) bool {
	switch a := a.(type) {
	case []Value:
		b, ok := b.([]Value)
		return ok && slices.EqualFunc(a, b, Same)
	case map[string]Value:
		b, ok := b.(map[string]Value)
		return ok && maps.EqualFunc(a, b, Same)
	}
	switch b.(type) {
	case []Value, map[string]Value:
		return false
	}
	return a == b
}
