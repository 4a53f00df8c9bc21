package pins

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, was, is string
		fields        []string
		shown         string
	}{
		{"nothing", `{"a":1}`, `{"a":1}`, nil, ""},
		{"a text", `{"a":"x"}`, `{"a":"y"}`, []string{"a"}, "  a\n    - \"x\"\n    + \"y\"\n"},
		{"a number as it is written", `{"a":1}`, `{"a":1.0}`, []string{"a"}, "  a\n    - 1\n    + 1.0\n"},
		{"deep down", `{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":[2]}}`, []string{"a"}, "  a.c\n    - 2\n    + [2]\n"},
		{"null and none", `{"a":null}`, `{}`, []string{"a"}, "  a\n    - null\n"},
		{"before the first", ``, `{"a":true,"b c":"\u001b"}`, []string{`["b c"]`, "a"}, "  a\n    + true\n  [\"b c\"]\n    + \"\\x1b\"\n"},
		{
			"a long text", `{"a":"` + strings.Repeat("x", 200) + `1"}`, `{"a":"` + strings.Repeat("x", 200) + `2"}`, []string{"a"},
			"  a\n    - ⟦161 bytes the same⟧" + strings.Repeat("x", 40) + "1\"\n    + ⟦161 bytes the same⟧" + strings.Repeat("x", 40) + "2\"\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fields([]byte(tt.was), []byte(tt.is)); !slices.Equal(got, tt.fields) {
				t.Errorf("got the fields %q, want %q", got, tt.fields)
			}
			var b strings.Builder
			if writeDiff(&b, []byte(tt.was), []byte(tt.is)); b.String() != tt.shown {
				t.Errorf("got\n%s\nwant\n%s", b.String(), tt.shown)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", "[]", `"x"`} {
		if m := members([]byte(text)); m != nil {
			t.Errorf("%q has the members %v", text, m)
		}
	}
}
