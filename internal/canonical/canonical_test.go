package canonical_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

func form(t *testing.T, src string) string {
	t.Helper()
	got, err := canonical.Append(nil, []byte(src))
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return string(got)
}

func TestSameMeaningSameBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"B063 the order of members", []string{
			`{"b":1,"a":{"d":1,"c":2}}`, `{"a":{"c":2,"d":1},"b":1}`, `{"a":{"d":1,"c":2},"b":1}`,
		}, `{"a":{"c":2,"d":1},"b":1}`},
		{"white space", []string{"{\"a\":[1,2]}", " {\t\"a\" :\r\n[ 1 , 2 ] } "}, `{"a":[1,2]}`},
		{"escapes", []string{`"\u0041\/\u00e9\ud83d\ude00"`, `"A/é😀"`, `"\u0041/\u00E9\uD83D\uDE00"`}, `"A/é😀"`},
		{"escapes that stay", []string{`"\b\f\n\r\t\"\\\u007f"`, `"\u0008\u000c\u000a\u000D\u0009\u0022\u005C` + "\x7f" + `"`},
			`"\u0008\u000c\u000a\u000d\u0009\"\\` + "\x7f" + `"`},
		{"a key by another escape", []string{`{"\u0061":1,"b":2}`, `{"b":2,"a":1}`}, `{"a":1,"b":2}`},
		{"what JavaScript has to escape", []string{`"\u2028"`, "\"\u2028\""}, "\"\u2028\""},
		{"empty ones", []string{` [ ] `, `[]`}, `[]`},
		{"words", []string{" true ", "true"}, "true"},
	} {
		for _, text := range c.texts {
			if got := form(t, text); got != c.want {
				t.Errorf("%s: %s is %s, want %s", c.name, text, got, c.want)
			}
		}
		if got := form(t, c.want); got != c.want {
			t.Errorf("%s: the form %s has the form %s", c.name, c.want, got)
		}
	}
}

func TestOtherMeaningOtherBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, one, other string }{
		{"B053 integers past 2^53", `{"id":9007199254740993}`, `{"id":9007199254740992}`},
		{"B057 the case of a member", `{"id":1,"ID":2}`, `{"ID":1,"id":2}`},
		{"B061 null and absent", `{"a":null}`, `{}`},
		{"the order of a list", `[1,2]`, `[2,1]`},
		{"a number and a text", `{"a":1}`, `{"a":"1"}`},
		{"number literals are kept", `1.0`, `1`},
		{"and their signs", `-0`, `0`},
		{"what is nested", `{"a":{"b":1}}`, `{"a":1,"b":{}}`},
		{"the replacement character and none", `"\ufffd"`, `""`},
	} {
		if one, other := form(t, c.one), form(t, c.other); one == other {
			t.Errorf("%s: %s and %s are both %s", c.name, c.one, c.other, one)
		}
	}
	if got := form(t, `{"id":1,"ID":2}`); got != `{"ID":2,"id":1}` {
		t.Errorf("B057: members that differ in case became %s", got)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, want string }{
		{"B055 a member twice", `{"id":1,"id":2}`, `the member "id" is given twice`},
		{"B055 by another escape", `{"id":1,"x":0,"\u0069d":2}`, `the member "id" is given twice`},
		{"B055 further in", `{"a":[{"b":{"x":1,"y":2,"x":1}}]}`, `the member "x" is given twice`},
		{"B059 half a pair", `{"path":"\ud800"}`, "half a surrogate pair"},
		{"B059 the other half", `"\udc00"`, "half a surrogate pair"},
		{"B059 the halves the wrong way", `"\udc00\ud800"`, "half a surrogate pair"},
		{"B059 half and a letter", `"\ud800\u0041"`, "half a surrogate pair"},
		{"no UTF-8", "\"\xff\"", "not valid UTF-8"},
		{"a surrogate in UTF-8", "\"\xed\xa0\x80\"", "not valid UTF-8"},
		{"B065 past a float64", `{"x":1e400}`, "1e400 is out of range"},
		{"B065 without an exponent", "1" + strings.Repeat("0", 400), "out of range"},
		{"B067 10,001 lists", strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), "nested deeper than 512 levels"},
		{"B067 objects", strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600), "nested deeper"},
		{"B069 32 MiB", `"` + strings.Repeat("x", 32<<20) + `"`, "33554434 bytes, more than the limit of 4194304"},
		{"nothing", ``, "unexpected end"},
		{"white space", " \n", "unexpected end"},
		{"two values", `{} {}`, "after the value"},
		{"a comma too many", `[1,]`, "unexpected ']'"},
		{"a comma too many in an object", `{"a":1,}`, "unexpected '}'"},
		{"a comma missing", `[1 2]`, "unexpected '2'"},
		{"a colon missing", `{"a" 1}`, "unexpected '1'"},
		{"no key", `{1:2}`, "unexpected '1'"},
		{"cut off", `{"a":[1`, "unexpected end"},
		{"cut off in a text", `"abc`, "unexpected end in a string"},
		{"cut off in an escape", `"\`, "unexpected end in a string"},
		{"cut off in digits", `"\u00`, "unexpected end in a string"},
		{"no digits", `"\u00zz"`, "not an escape"},
		{"a sign for a digit", `"\u+123"`, "not an escape"},
		{"an unknown escape", `"\x41"`, `unknown escape \x`},
		{"a control character", "\"\n\"", "control character 0x0a"},
		{"a leading zero", `01`, "the number 01"},
		{"a plus", `+1`, "unexpected '+'"},
		{"a point alone", `1.`, "the number 1."},
		{"no point in front", `.5`, "unexpected '.'"},
		{"an exponent alone", `1e+`, "the number 1e+"},
		{"a minus alone", `-`, "the number -"},
		{"a word", `nul`, "unexpected 'n'"},
		{"another case", `True`, "unexpected 'T'"},
		{"no JSON", `NaN`, "unexpected 'N'"},
		{"a zero byte", "\x00", `unexpected '\x00'`},
		{"a zero byte in a list", "[1\x00]", `unexpected '\x00'`},
		{"a byte order mark", "\ufeff{}", "unexpected"},
	} {
		dst := []byte("kept")
		got, err := canonical.Append(dst, []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			continue
		}
		if string(got) != "kept" {
			t.Errorf("%s: dst came back as %q", c.name, got)
		}
		if len(err.Error()) > 200 {
			t.Errorf("%s: the error has %d bytes", c.name, len(err.Error()))
		}
		if !middleware.NotSent(err) || !middleware.Permanent(err) {
			t.Errorf("%s: the error does not say that nothing was sent and that it is final", c.name)
		}
		if e, ok := errors.AsType[*canonical.Error](err); !ok || e.Offset < 0 || e.Offset > len(c.src) {
			t.Errorf("%s: %#v", c.name, err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	deepest := strings.Repeat("[", canonical.MaxDepth) + "1" + strings.Repeat("]", canonical.MaxDepth)
	if got := form(t, deepest); got != deepest {
		t.Error("the deepest nesting that is allowed was changed")
	}
	longest := `"` + strings.Repeat("x", canonical.MaxBytes-2) + `"`
	if got := form(t, longest); got != longest {
		t.Error("the longest text that is allowed was changed")
	}
}

func TestAppendObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, want, fault string }{
		{"B071 nothing", "", "{}", ""},
		{"B071 white space", " \n", "{}", ""},
		{"an object", ` {"b":1,"a":2}`, `{"a":2,"b":1}`, ""},
		{"B071 null", "null", "", "not a JSON object"},
		{"B071 a list", "[]", "", "not a JSON object"},
		{"B071 a text", `"text"`, "", "not a JSON object"},
		{"half an object", `{"a":`, "", "unexpected end"},
	} {
		got, err := canonical.AppendObject(nil, []byte(c.src))
		if c.fault == "" && (err != nil || string(got) != c.want) || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: %s, %v; want %s, %q", c.name, got, err, c.want, c.fault)
		}
	}
	if got, err := canonical.AppendObject(nil, nil); err != nil || string(got) != "{}" {
		t.Errorf("B071 nil: %s, %v", got, err)
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	src := []byte(`{"b":1,"a":2}`)
	got, err := canonical.Append([]byte("key:"), src)
	if err != nil || string(got) != `key:{"a":2,"b":1}` || string(src) != `{"b":1,"a":2}` {
		t.Errorf("got %s, %v; the source is %s", got, err, src)
	}
}
