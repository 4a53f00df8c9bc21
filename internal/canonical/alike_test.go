package canonical_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/canonical"
)

func TestNamesThatDifferOnlyInCaseAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		src     string
		refused bool
	}{
		{`{}`, false}, {``, false},
		{`{"path":"Path","b":["path","Path"]}`, false}, // values are not names
		{`{"a":{"path":1},"b":{"Path":1}}`, false},     // nor are those of two objects one
		{`{"a":{"A":{"a":{}}}}`, false},
		{`{"filePath":1,"file_path":2}`, false},
		{`{"a":12345678901234567890123,"b":[1.5e300,true,null,{}]}`, false},
		{`{"path":"safe","Path":"/etc"}`, true},
		{`{"path":1,"x":2,"PATH":3}`, true},
		{`{"path":1,"p\u0061TH":3}`, true},
		{`{"a\"":"\\","A\"":{"":"\""}}`, true},
		{`{"\\":"A\\","a":"\"","A":1}`, true},
		{`{"l":[{"a":[[{"b":{"x":1}},{"x":1,"X":1}]]}]}`, true},
		{`{"a":{"b":1},"z":{"q":{"b":1},"Q":1}}`, true},
		{`{"set":1,"ſet":2}`, true},
		{`{"k":1,"\u212a":2}`, true},
		{`{"":1,"a":{"":1,"É":2,"é":3}}`, true},
	} {
		_, err := canonical.AppendObject(nil, []byte(tt.src))
		if (err != nil) != tt.refused {
			t.Errorf("%s: got error %v", tt.src, err)
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
		if _, err := canonical.AppendObject(nil, text); (err != nil) != (a != b && strings.EqualFold(a, b)) {
			t.Errorf("%q and %q: %v", a, b, err)
		}
	})
}
