package jsontree_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsontree"
)

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ src, want string }{
		{`{}`, ""}, {`[]`, ""}, {`null`, ""}, {`"a"`, ""}, {`1e30`, ""}, {`"A"`, ""},
		{`{"path":"Path","b":["path","Path"]}`, ""}, // values are no names
		{`{"a":{"path":1},"b":{"Path":1}}`, ""},     // nor are those of two objects one
		{`{"a":{"A":{"a":{}}}}`, ""},
		{`{"filePath":1,"file_path":2}`, ""},
		{`{"a":12345678901234567890123,"b":[1.5e300,true,null,{}]}`, ""},
		{`{"path":"safe","Path":"/etc"}`, "Path path"},
		{`{"path":1,"x":2,"PATH":3}`, "PATH path"},
		{`{"path":1,"p\u0061TH":3}`, "paTH path"},
		{`{"a\"":"\\","A\"":{"":"\""}}`, `A" a"`},
		{`{"\\":"A\\","a":"\"","A":1}`, "A a"},
		{`[{"a":[[{"b":{"x":1}},{"x":1,"X":1}]]}]`, "X x"},
		{`{"a":{"b":1},"z":{"q":{"b":1},"Q":1}}`, "Q q"},
		{`{"set":1,"ſet":2}`, "set ſet"},
		{`{"k":1,"\u212a":2}`, "k \u212A"},
		{`{"":1,"a":{"":1,"É":2,"é":3}}`, "É é"},
	} {
		got := ""
		form, err := canonical.Append(nil, []byte(tt.src))
		if err != nil {
			t.Fatal(err)
		}
		if one, other, found := jsontree.Alike(decode(t, string(form))); found {
			got = fmt.Sprint(one, " ", other)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.src, got, tt.want)
		}
	}
}

func FuzzAlike(f *testing.F) {
	f.Add("a", "B")
	f.Add("ſ", "S")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		text, err := json.Marshal(map[string]any{"o": []any{map[string]any{a: 1.0, b: 2.0}}})
		if err != nil {
			t.Fatal(err)
		}
		form, err := canonical.Append(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, found := jsontree.Alike(decode(t, string(form))); found != (a != b && strings.EqualFold(a, b)) {
			t.Errorf("%q and %q: %t", a, b, found)
		}
	})
}
