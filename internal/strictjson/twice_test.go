package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/strictjson"
)

func TestTop(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"tools":[{"a":1,"a":2}],"x":{"Tools":1}}`: true, `{"tools":[],"tools":[]}`: false, `{"Tools":[]}`: false,
	} {
		if err := strictjson.Top([]byte(text), "tools"); (err == nil) != want {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestOnceWithKnownNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`{"tools":[],"_meta":{}}`, ""},
		{`{"other":1,"Other":2}`, ""},
		{`{"tools":[],"tools":[]}`, `"tools" is given twice`},
		{`{"tools":[],"Tools":[]}`, `"Tools" can be taken for "tools"`},
		{`{"TOOLS":[]}`, `"TOOLS" can be taken for "tools"`},
		{`{"tool\u017f":[]}`, `"toolſ" can be taken for "tools"`},
		{`{"other":{"Tools":1}}`, ""},
		{`{"tools":[{"Tools":1}]}`, ""},
		{`{"other":1,"\u006fther":2}`, `"other" is given twice`},
	} {
		if got := fmt.Sprint(strictjson.Once([]byte(tt.text), "tools", "_meta")); got != tt.want && (tt.want != "" || got != "<nil>") {
			t.Errorf("%s: got %s, want %q", tt.text, got, tt.want)
		}
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	var many, again strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `"%d":%d,`, i, i)
	}
	again.WriteString(many.String())
	for _, tt := range []struct {
		text string
		want bool
	}{
		{`{}`, true}, {`"a"`, true}, {`1`, true},
		{`{"a":{"a":{"a":"a"}},"b":["a","a",{"a":1},{"a":1}]}`, true},
		{`{"a":1,"a":1}`, false},
		{`{"a":1,"\u0061":1}`, false},
		{`[[{"x":{"b":"}","c\"":1,"c\"":2}}]]`, false},
		{`{"a":"\"a\":","A":1}`, true},
		{`{"a":[1,2],"b":{"c":1},"b":1}`, false},
		{`{` + many.String() + `"x":1}`, true},
		{`{` + many.String() + `"39":1}`, false},
		{`{` + again.String() + `"3":1}`, false},
		{`{"":1,"":2}`, false},
	} {
		if err := strictjson.Once([]byte(tt.text)); (err == nil) != tt.want {
			t.Errorf("%.80s: got %v", tt.text, err)
		}
	}
}

// FuzzOnce compares with a reader that takes token after token.
func FuzzOnce(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[{"c":1,"\u0063":2}]},"":null}`))
	f.Add([]byte(`[{"a":"\\"},{"a":"\"","b":[],"b":1}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			t.Skip()
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if got, want := strictjson.Once(text) == nil, once(t, d); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	})
}

// once reads a value and reports whether all names in it are different.
func once(t *testing.T, d *json.Decoder) bool {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		return true
	}
	if err != nil {
		t.Skip(err)
	}
	fine := true
	switch token {
	case json.Delim('{'):
		seen := make(map[any]bool)
		for d.More() {
			name, err := d.Token()
			if err != nil {
				t.Skip(err)
			}
			fine = fine && !seen[name]
			seen[name] = true
			fine = once(t, d) && fine
		}
		_, _ = d.Token()
	case json.Delim('['):
		for d.More() {
			fine = once(t, d) && fine
		}
		_, _ = d.Token()
	}
	return fine
}
