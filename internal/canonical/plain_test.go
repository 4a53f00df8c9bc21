package canonical_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/canonical"
)

// plainForm is the form as one would write it with encoding/json and without a thought of speed: the text is decoded
// into a tree, which is written with its members sorted. It is what the scanner is compared with.
func plainForm(src []byte, strict bool) (form string, ok bool) {
	if len(src) > canonical.MaxBytes || !utf8.Valid(src) || !json.Valid(src) || halfSurrogate(src) {
		return "", false
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	return plainValue(d, strict, 0)
}

func plainValue(d *json.Decoder, strict bool, depth int) (form string, ok bool) {
	token, err := d.Token()
	if err != nil || depth > canonical.MaxDepth {
		return "", false
	}
	switch token := token.(type) {
	case string:
		return plainText(token), true
	case json.Number:
		_, err := token.Float64()
		return token.String(), err == nil
	case json.Delim:
		if token == '{' {
			return plainObject(d, strict, depth)
		}
		var values []string
		for d.More() {
			value, ok := plainValue(d, strict, depth+1)
			if !ok {
				return "", false
			}
			values = append(values, value)
		}
		_, err := d.Token()
		return "[" + strings.Join(values, ",") + "]", err == nil
	case nil:
		return "null", true
	}
	return fmt.Sprint(token), true
}

func plainObject(d *json.Decoder, strict bool, depth int) (form string, ok bool) {
	values := map[string]string{} // by the name in its form
	var names []string
	for d.More() {
		token, err := d.Token()
		name, _ := token.(string)
		alike := func(other string) bool { return name == other || strict && strings.EqualFold(name, other) }
		if err != nil || slices.ContainsFunc(names, alike) {
			return "", false
		}
		names = append(names, name)
		if values[plainText(name)], ok = plainValue(d, strict, depth+1); !ok {
			return "", false
		}
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		members = append(members, name+":"+values[name])
	}
	_, err := d.Token()
	return "{" + strings.Join(members, ",") + "}", err == nil
}

func plainText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			fmt.Fprintf(&b, `\%c`, r)
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

var escapes = regexp.MustCompile(`(?i)\\(?:u([0-9a-f]{4})(?:\\u([0-9a-f]{4}))?|.)`)

// halfSurrogate reports whether valid JSON has an escaped surrogate that is not one of a pair.
func halfSurrogate(src []byte) bool {
	for len(src) > 0 {
		at := escapes.FindSubmatchIndex(src)
		if at == nil {
			return false
		}
		unit := func(from, to int) rune {
			if from < 0 {
				return 0
			}
			n, _ := strconv.ParseUint(string(src[from:to]), 16, 16)
			return rune(n)
		}
		one, other := unit(at[2], at[3]), unit(at[4], at[5])
		end := at[1]
		if utf16.IsSurrogate(one) {
			if utf16.DecodeRune(one, other) == utf8.RuneError {
				return true
			}
		} else if at[3] >= 0 {
			end = at[3] // the second one may begin a pair
		}
		src = src[end:]
	}
	return false
}

// compare holds the scanner to the plain form: both refuse a text, or both make the same of it.
func compare(t *testing.T, src []byte) {
	t.Helper()
	for _, c := range []struct {
		name   string
		form   func(dst, src []byte) ([]byte, error)
		strict bool
	}{{"Append", canonical.Append, false}, {"AppendObject", canonical.AppendObject, true}} {
		want, ok := plainForm(src, c.strict)
		if c.strict {
			switch text := bytes.Trim(src, " \t\r\n"); {
			case len(text) == 0:
				want, ok = "{}", true
			case text[0] != '{':
				ok = false
			}
		}
		got, err := c.form([]byte("before"), src)
		switch {
		case ok != (err == nil):
			t.Fatalf("%s: %q: error %v; the plain form is %q, %t", c.name, src, err, want, ok)
		case err != nil:
			want = ""
		}
		if string(got) != "before"+want {
			t.Fatalf("%s: %q: got %q, want %q", c.name, src, got, "before"+want)
		}
		if err == nil {
			if again, err := c.form(nil, []byte(want)); err != nil || string(again) != want {
				t.Fatalf("%s: %q: the form %q has the form %q, %v", c.name, src, want, again, err)
			}
		}
	}
}

func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		arguments, `{"a":1,"a":2}`, `"\ud800"`, `[1e400,1E5,-0.0]`, `{"b":{"d":[],"c":{}},"a":"\u0000"}`, "\"\xff\"", `[[[[]]]]`, ` null `, `{"":"","\u0000":1}`,
		`{"longer name B":1,"longer name b":2,"longer name":{"ſ":1,"S":2}}`, `"\u0041\ud83d\ude00\ud83d"`, "{\"a\" :1 ,\n\"0123456789\": \"é\" , \"01234567\":{\"z\":1,\"y\":2} }",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(compare)
}

// Random edits of a text that has everything reach each branch of the scanner without a fuzzer.
func TestAgainstEncodingJSON(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{
		`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, ` `, "\n", "\x00", "\x1f", "\x7f", "\x80", "é", "\xed\xa0\x80", `\u00e9`, `\ud83d\ude00`, `\ud800`, `\n`, `\/`, `\u0022`,
		`0`, `-`, `1.5`, `e9`, `e999`, `01`, `true`, `nul`, `"a":1`, `"A":2`, `"longer name":{}`, `"Longer name":[]`, `,"k":"K",`, `"b":{"d":1,"c":2}`,
	}
	for range 20_000 {
		text := []byte(arguments)
		for range 1 + r.IntN(3) {
			i := r.IntN(len(text) + 1)
			j := min(len(text), i+[...]int{0, 0, 1, 2, 9, 40}[r.IntN(6)])
			text = slices.Replace(text, i, j, []byte(pieces[r.IntN(len(pieces))])...)
		}
		compare(t, text)
	}
}

// Every byte, at every place in a word of eight, in front of the end and far from it.
func TestEveryByteAtEveryPlace(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 18 {
			for _, behind := range []int{0, 1, 7, 8, 20} {
				text := strings.Repeat("x", at) + string([]byte{byte(c)}) + strings.Repeat("y", behind)
				compare(t, []byte(`"`+text+`"`))
				compare(t, []byte(`{"`+text+`":1,"z":2}`))
				compare(t, []byte(`{"z":2,"`+text+`":1,"`+strings.ToLower(text)+`":3}`))
			}
		}
	}
}
