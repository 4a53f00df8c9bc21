package dial_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
)

// What a target shows on a page that is passed around.
func TestStringKeepsSecrets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target dial.Target
		secret string
	}{
		"a password in the URL": {dial.Words("https://ada:hunter2secret@example.com/mcp"), "hunter2secret"},
		"a token in the query":  {dial.Words("https://example.com/mcp?api_key=abcdef123456"), "abcdef123456"},
		"a key in a flag":       {dial.Words("npx", "server", "--api-key=abcdef123456"), "abcdef123456"},
		"a key after a flag":    {dial.Words("npx", "server", "--api-key", "abcdef123456"), "abcdef123456"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.target.String(); strings.Contains(got, c.secret) || got == "" {
				t.Errorf("it shows %s", got)
			}
		})
	}
}
