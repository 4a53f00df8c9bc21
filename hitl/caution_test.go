package hitl_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/hitl"
)

// Who reads the one of two members that are alike is told of the other.
func TestCaution(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		``:                           "",
		`{}`:                         "",
		`no JSON`:                    "",
		`{"path":"safe"}`:            "",
		`{"path":"a","path":"b"}`:    "", // it is refused
		`{"to":"p\u0430ypal"}`:       "it has characters that can be taken for others",
		"{\"to\":\"e\u0301\"}":       "it has characters that can be taken for others",
		"{\"to\":\"שלום 12\"}":       "it has characters that can be taken for others",
		`{"to":"Zoë, Łódź, 東京"}`:     "",
		`{"a":{"x":1},"b":{"X":1}}`:  "",
		`{"path":"a","Path":"/etc"}`: `"Path" and "path" differ only in case: the server may take one for the other`,
		`{"o":[{"x":1,"X":1}]}`:      `"X" and "x" differ`,
		`{"\u202e\u001b[2J` + strings.Repeat("a", 500) + `":1,"\u202e\u001b[2J` + strings.Repeat("a", 499) + `A":2}`: `"\u202e\x1b[2Ja`,
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
		_, _ = hitl.Terminal(strings.NewReader("e\n{\"a\":1,\"A\":2}\nn\n"), out).Confirm(t.Context(), asks(t, `{"path":"safe","Path":"/etc"}`))
		for _, want := range []string{"│ caution      \"Path\" and \"path\" differ only in case", "│ caution      \"A\" and \"a\" differ only in case"} {
			if got := out.String(); !strings.Contains(got, want) {
				t.Errorf("no %s in:\n%s", want, got)
			}
		}
	})
}
