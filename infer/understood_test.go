package infer_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is not understood is named.
func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"打碎灯":                      `inferred: "打碎灯" is not understood`,
		"ランプを壊す。":                  `inferred: "ランプを壊す" is not understood`,
		"Rikkoo lampun kokonaan":   `inferred: "Rikkoo" is not understood`,
		"Sletter lampen og bordet": `inferred: "Sletter" is not understood`,
	} {
		a := infer.Tool(&mcp.Tool{Name: "get_lamp", Description: description})
		if got := a.Evidence[0].String(); a.Safety().String() != "unknown" || got != want {
			t.Errorf("%s: got %v, %s, want %s", description, a.Safety(), got, want)
		}
	}
}

// The evidence of a tool that is not understood at all names the words of the name that are not known, or the whole name.
func TestNothingIsUnderstood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, description, want string }{
		{"倉庫", "", `inferred: "倉庫" is not understood`},
		{"lamp_倉庫", "", `inferred: "倉庫" is not understood`},
		{"xyzzy", "", `inferred: "xyzzy" is not understood`},
		{"xyzzyPasswordPlugh", "", `inferred: "xyzzy plugh" is not understood`},
		{"frobnicate", "", `inferred: "frobnicate" is not understood`},
		{"lamp", "Zorches the lamp.", `inferred: "zorches" is not understood`},
		{"password", "", `inferred: "password" names no deed`},
		{"user_ops", "", `inferred: "ops" names several deeds, and not which`},
	} {
		a := infer.Tool(&mcp.Tool{Name: c.name, Description: c.description})
		if got := a.Evidence[0].String(); a.Safety() != annotation.Unknown || got != c.want {
			t.Errorf("%s: got %v, %s, want %s", c.name, a.Safety(), got, c.want)
		}
	}
}

func TestAChoiceThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	a := infer.Tool(&mcp.Tool{Name: "lamp", InputSchema: map[string]any{
		"type": "object", "properties": map[string]any{"action": map[string]any{"enum": []any{"show", "dim", "plugh"}}},
	}})
	e, _ := a.Because()
	if want := `inferred: "plugh" is a choice that is not understood`; a.Safety() != annotation.Dangerous || e.String() != want {
		t.Errorf("got %v, %s, want %s", a.Safety(), e, want)
	}
}
