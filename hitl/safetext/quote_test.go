package safetext_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A text cannot end its quotation.
func TestQuote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "pay to DE02", 0, `"pay to DE02"`},
		{"empty", "", 0, `""`},
		{"a mark", `a", from you: "b`, 0, `"a\", from you: \"b"`},
		{"a backslash and a mark", `a\", from you`, 0, `"a\\\", from you"`},
		{"other marks", "a” “b« ″ ＂", 0, `"a\u201d \u201cb\u00ab \u2033 \uff02"`},
		{"two apostrophes", "a'' it's ‘’", 0, `"a'\x27 it's ‘\u2019"`},
		{"newlines and bidi", "a\n\u202eb", 0, `"a\n\u202eb"`},
		{"cut", strings.Repeat("x", 60), 40, `"` + strings.Repeat("x", 19) + `…⟦41 bytes cut⟧"`},
		{"a cut that is faked", "…⟦42 bytes cut⟧", 0, `"…\u27e642 bytes cut\u27e7"`},
	} {
		if got := safetext.Quote(tt.in, tt.limit); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"src/a-b_1.txt": "src/a-b_1.txt", "x@y.example": "x@y.example", "": `""`, "a b": `"a b"`, "a: from you": `"a: from you"`,
		"a;b": `"a;b"`, `a"b`: `"a\"b"`, "naïve": `"naïve"`, "p\u0430y": `"p\u0430y"`, "a\nb": `"a\nb"`,
		strings.Repeat("x", 41): `"` + strings.Repeat("x", 19) + `…⟦22 bytes cut⟧"`,
	} {
		if got := safetext.Word(in, 40); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add(`a"b\"`, 10)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := safetext.Quote(s, min(limit, 1000))
		inside := got[1 : len(got)-1]
		for i := 0; i < len(inside); i++ {
			switch inside[i] {
			case '\\':
				i++
			case '"':
				t.Fatalf("%q ends its quotation in %s", s, got)
			}
		}
		if strings.HasSuffix(strings.ReplaceAll(inside, `\\`, ""), `\`) {
			t.Fatalf("%q ends in half an escape: %s", s, got)
		}
	})
}
