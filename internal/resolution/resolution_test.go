package resolution_test

import (
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/resolution"
)

// Four letters: read-only, destructive, idempotent, open-world, each y, n or -.
func hints(word string) annotation.Annotations {
	of := func(i int) annotation.Hint {
		return map[byte]annotation.Hint{'y': annotation.Yes, 'n': annotation.No, '-': annotation.Unset}[word[i]]
	}
	return annotation.Annotations{ReadOnly: of(0), Destructive: of(1), Idempotent: of(2), OpenWorld: of(3)}
}

func TestExceeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ declared, answer, want string }{
		{"----", "nyny", "[]"}, // nothing is worse than the defaults
		{"nyny", "nyny", "[]"},
		{"nyny", "ynyn", "[]"},
		{"ynyn", "ynyn", "[]"},
		{"y---", "n---", "[readOnlyHint]"},
		{"yn--", "ny--", "[readOnlyHint]"}, // the destructive hint of a read does not count
		{"nn--", "ny--", "[destructiveHint]"},
		{"-n--", "ny--", "[destructiveHint]"},
		{"-n--", "-y--", "[destructiveHint]"},
		{"-n--", "yy--", "[]"}, // a read destroys nothing, with any destructive hint
		{"-n--", "nn--", "[]"},
		{"--y-", "n-n-", "[idempotentHint]"},
		{"--y-", "y-n-", "[]"},
		{"--n-", "n-n-", "[]"},
		{"---n", "---y", "[openWorldHint]"},
		{"---n", "y--y", "[openWorldHint]"},
		{"---y", "---y", "[]"},
		{"ynyn", "----", "[]"}, // what is left out is not looked at
		{"nnyn", "nyny", "[destructiveHint idempotentHint openWorldHint]"},
	} {
		if got := fmt.Sprint(resolution.Exceeds(hints(tt.declared), hints(tt.answer))); got != tt.want {
			t.Errorf("declared %s, answered %s: %s, want %s", tt.declared, tt.answer, got, tt.want)
		}
	}
}
