package terminal_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Half a line before the terminal broke does not count as an answer.
func TestBrokenTerminalIsADenial(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	got, err := terminal.New(io.MultiReader(strings.NewReader("y"), iotest.ErrReader(broken)), io.Discard).Confirm(t.Context(), asks(t, `{}`))
	if !errors.Is(err, broken) || got.Verdict != hitl.Denied {
		t.Errorf("got %+v and error %v", got, err)
	}
}

func TestTerminalTakesNoApprovalOfWhatItDidNotShow(t *testing.T) {
	t.Parallel()
	long := `{"body":"` + strings.Repeat("x", 200_000) + `"}`
	const refused = " are not shown, so nothing was approved; d shows all"
	for _, tt := range []struct {
		name, typed string
		want        hitl.Verdict
		shown       string
	}{
		{"y", "y\n", hitl.Denied, refused},
		{"s", "s\n", hitl.Denied, refused},
		{"y, twice", "y\ny\n", hitl.Denied, refused},
		{"no", "n\n", hitl.Denied, ""},
		{"y after all of it", "d\ny\n", hitl.Approved, ""},
		{"y, then after all of it", "y\nd\ns\n", hitl.Approved, refused},
		{"edited to what is short", "e\n{}\ny\n", hitl.Approved, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for what, request := range map[string]hitl.Request{"arguments": asks(t, long), "draft": asks(t, `{}`)} {
				if what == "draft" {
					request.Drafts = []hitl.Draft{{ID: "1", Shown: long}}
					if strings.HasPrefix(tt.typed, "e") {
						continue
					}
				}
				request.Offers = []hitl.Offer{{Longest: hitl.Session}}
				out := new(screen)
				got, _ := terminal.New(strings.NewReader(tt.typed), out).Confirm(t.Context(), request)
				if got.Verdict != tt.want || !strings.Contains(out.String(), tt.shown) {
					t.Errorf("%s: got %v, and it shows\n%.2000s", what, got.Verdict, out)
				}
				request.ID = "q"
				typed := strings.NewReplacer("y", "1", "s", "all").Replace(tt.typed)
				if strings.HasPrefix(tt.typed, "e") {
					continue
				}
				some, _ := terminal.New(strings.NewReader(typed), new(screen)).(hitl.GroupConfirmer).ConfirmGroup(t.Context(), []hitl.Request{request})
				if some["q"].Verdict != tt.want {
					t.Errorf("%s in a group: got %v", what, some["q"].Verdict)
				}
			}
		})
	}
}

// A tool without a definition, which only a host can make, is denied like all
// that cannot be shown.
func TestWhatCannotBeShownIsADenial(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := hitl.New(terminal.New(strings.NewReader("y\n"), io.Discard), hitl.Options{})(guarded(e))
	for name, call := range map[string]middleware.Call{
		"no definition": {Tool: &middleware.Tool{Server: "files"}},
		"no name":       {Tool: &middleware.Tool{Server: "files", Definition: &mcp.Tool{}}, Arguments: []byte(`[]`)},
	} {
		if res, err := c.CallTool(t.Context(), call); res != nil || err == nil {
			t.Errorf("%s: got %v and error %v", name, res, err)
		}
	}
	e.want(t, 0)
}
