package terminal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
)

func TestTerminalUnderstandsItsLetters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, typed string
		want        hitl.Decision
		err         string
		shown       string
	}{
		{"y", "y\n", yes, "", `"a.txt"`},
		{"yes, with space and capitals", "  YES \n", yes, "", ""},
		{"a return of Windows", "y\r\n", yes, "", ""},
		{"y at the end of the input", "y", yes, "", ""},
		{"n", "n\n", hitl.Decision{}, "", ""},
		{"No", "No\n", hitl.Decision{}, "", ""},
		{"nothing", "\n", hitl.Decision{}, "", ""},
		{"blanks", "  \t \n", hitl.Decision{}, "", ""},
		{"ok", "OK!\n", yes, "", ""},
		{"sure", "sure\n", yes, "", ""},
		{"a polite yes", "yes please\n", yes, "", ""},
		{"nope", "nope.\n", hitl.Decision{}, "", ""},
		{"guidance that was asked for", "i\n  archive it instead \n", hitl.Decision{Reason: "archive it instead"}, "", "do instead?"},
		{"no guidance after all", "instead\n\n", hitl.Decision{}, "", ""},
		{"guidance, and then the end", "i\n", hitl.Decision{}, "the input has ended", ""},
		{"guidance that was not asked for", "archive it\ny\n", yes, "", "\"archive it\" is neither a yes nor a no; nothing was decided"},
		{"neither, to the end", "maybe\n", hitl.Decision{}, "the input has ended", "n denies, i denies and takes a line"},
		{"help, and then a yes", "?\ny\n", yes, "", "y approves this call once"},
		{"a yes of another alphabet", "ｙ\nn\n", hitl.Decision{}, "", "neither a yes nor a no"},
		{"the end of the input", "", hitl.Decision{}, "the input has ended", "denied"},
		{"details, and then a yes", "d\ny\n", yes, "", ""},
		{"the words for letters", "details\nEdit\n{\"n\":1}\ny\n", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"n":1}`)}, "", ""},
		{"details, and then the end", "d\n", hitl.Decision{}, "the input has ended", ""},
		{"edit", "e\n{\"path\":\"b.txt\"}\ny\n", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"path":"b.txt"}`)}, "", `"b.txt"`},
		{"edit, and then a no", "e\n{\"path\":\"b.txt\"}\nn\n", hitl.Decision{}, "", ""},
		{"edit, and then nothing", "e\n{\"path\":\"b.txt\"}\n", hitl.Decision{}, "the input has ended", ""},
		{"edit, twice", "e\n{\"n\":1}\ne\n{\"n\":2}\ny\n", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"n":2}`)}, "", ""},
		{"edit to digits past 2^53", "e\n{\"n\":9007199254740993,\"x\":0.1000000000000000055}\ny\n", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"n":9007199254740993,"x":0.1000000000000000055}`)}, "", "9007199254740993"},
		{"edit into a list", "e\n[1]\ny\n", yes, "", "nothing was changed"},
		{"edit into what is no JSON", "e\n{path}\nn\n", hitl.Decision{}, "", "nothing was changed"},
		{"edit and give nothing", "e\n\ny\n", yes, "", "nothing was changed"},
		{"edit, and then the end", "e\n", hitl.Decision{}, "the input has ended", ""},
		{"y does not answer what the new arguments are", "e\ny\nn\n", hitl.Decision{}, "", "nothing was changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := new(screen)
			got, err := terminal.New(strings.NewReader(tt.typed), out).Confirm(t.Context(), asks(t, `{"path":"a.txt"}`))
			if got.Verdict != tt.want.Verdict || got.Reason != tt.want.Reason || string(got.Arguments) != string(tt.want.Arguments) {
				t.Errorf("got %+v (%s), want %+v (%s)", got, got.Arguments, tt.want, tt.want.Arguments)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || err.Error() != tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
			if !strings.Contains(out.String(), tt.shown) {
				t.Errorf("no %q in %s", tt.shown, out)
			}
		})
	}
}
