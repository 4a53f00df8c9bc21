package infer_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is not understood is named.
func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"打碎灯":                          `inferred: "打碎灯" is not understood`,
		"ランプを壊す。":                      `inferred: "ランプを壊す" is not understood`,
		"Rikkoo lampun kokonaan":       `inferred: "Rikkoo" is not understood`,
		"Verwijdert de lamp en de mat": `inferred: "Verwijdert" is not understood`,
	} {
		a := infer.Tool(&mcp.Tool{Name: "get_lamp", Description: description})
		if got := a.Evidence[0].String(); a.Safety().String() != "unknown" || got != want {
			t.Errorf("%s: got %v, %s, want %s", description, a.Safety(), got, want)
		}
	}
}
