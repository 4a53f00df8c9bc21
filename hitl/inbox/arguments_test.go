package inbox_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/internal/canonical"
)

// The editor's text means what the arguments mean, and hides nothing.
func FuzzEditable(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"\u202e\u0000"}`, `{"a":[1.0,1e400,{"b":null}]}`, "{\"a\":\"\u202e\U000e0041\"}", `{"a":1,"a":2}`, `[`, "{\"\u2028\":1}", "{}\r"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		want, err := canonical.AppendObject(nil, []byte(arguments))
		if err != nil || strings.TrimSpace(arguments) == "" {
			return
		}
		text := inbox.Editable(json.RawMessage(arguments))
		got, err := canonical.AppendObject(nil, []byte(text))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q became %q, error %v", arguments, text, err)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unicode.Is(unicode.C, r) }) {
			t.Errorf("%q hides something", text)
		}
	})
}
