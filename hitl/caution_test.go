package hitl_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
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

// A person sees that the call may have happened, and what they saw is what they approve.
func TestCautionOfACallInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := asks(t, `{"to":"p\u0430ypal"}`)
		fresh := r.Digest()
		r.InDoubt = time.Now().Add(-40 * time.Second)
		if got := r.Caution(); !strings.HasPrefix(got, "the same call, 40s ago, may have happened") || !strings.Contains(got, "; it has characters") {
			t.Error(got)
		}
		then := r.Digest()
		time.Sleep(time.Second)
		if then == fresh || then != r.Digest() {
			t.Error("the digest does not cover the doubt, or changes with the time")
		}
	})
}

func TestTerminalShowsTheCaution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		_, _ = terminal.New(strings.NewReader("e\n{\"a\":\"p\\u0430y\"}\nn\n"), out).Confirm(t.Context(), asks(t, `{"path":"p\u0430ypal"}`))
		if got := out.String(); strings.Count(got, "│ caution      it has characters") != 2 {
			t.Errorf("want a caution for each of two questions:\n%s", got)
		}
	})
}
