package hitl_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/hitl"
)

// A person is told of characters that can be taken for others.
func TestCaution(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		``:                           "",
		`{}`:                         "",
		`no JSON`:                    "",
		`{"path":"safe"}`:            "",
		`{"path":"a","path":"b"}`:    "", // it is refused
		`{"path":"a","Path":"/etc"}`: "", // it is refused
		`{"to":"p\u0430ypal"}`:       "it has characters that can be taken for others",
		"{\"to\":\"e\u0301\"}":       "it has characters that can be taken for others",
		"{\"to\":\"שלום 12\"}":       "it has characters that can be taken for others",
		`{"to":"Zoë, Łódź, 東京"}`:     "",
		`{"a":{"x":1},"b":{"X":1}}`:  "",
	} {
		got := hitl.Request{Arguments: json.RawMessage(arguments)}.Caution()
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") || len(got) > 300 || strings.ContainsAny(got, "\x1b\u202e\n") {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

func TestTerminalShowsTheCaution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		_, _ = hitl.Terminal(strings.NewReader("e\n{\"a\":\"p\\u0430y\"}\nn\n"), out).Confirm(t.Context(), asks(t, `{"path":"p\u0430ypal"}`))
		if got := out.String(); strings.Count(got, "│ caution      it has characters") != 2 {
			t.Errorf("want a caution for each of two questions:\n%s", got)
		}
	})
}
