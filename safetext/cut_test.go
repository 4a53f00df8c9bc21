package safetext_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/safetext"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"fits", "abc", 3, "abc"},
		{"empty", "", 0, ""},
		{"cut", strings.Repeat("a", 40), 33, strings.Repeat("a", 12) + `…⟦28 bytes cut⟧`},
		{"between runes", strings.Repeat("é", 20), 32, strings.Repeat("é", 5) + `…⟦30 bytes cut⟧`},
		{"not inside an escape", safetext.Line("aaaaa\u202eaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 31, `aaaaa…⟦36 bytes cut⟧`},
		{"not inside a doubled backslash", safetext.Line(`aaaaaaaa\\\\\\\\\\\\\\\\\\`), 32, `aaaaaaaa\\…⟦34 bytes cut⟧`},
		{"not inside a count", safetext.Line("a" + strings.Repeat("\n", 300) + strings.Repeat("b", 40)), 33, `a…⟦58 bytes cut⟧`},
		{"no space for more than the mark", strings.Repeat("a", 40), 5, `…⟦40 bytes cut⟧`},
		{"negative", "a", -1, `…⟦1 bytes cut⟧`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := safetext.Cut(tt.in, tt.limit); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCutIsNeverLongerAndMarksTheGap(t *testing.T) {
	t.Parallel()
	s := safetext.Line(strings.Repeat("a\u202e\\é\n\n\n\n\n\n", 40))
	for limit := 32; limit < len(s); limit++ {
		got := safetext.Cut(s, limit)
		if len(got) > limit {
			t.Fatalf("limit %d: %d bytes", limit, len(got))
		}
		kept, tail, ok := strings.Cut(got, "…")
		if !ok || !strings.HasPrefix(s, kept) || tail != `⟦`+strconv.Itoa(len(s)-len(kept))+` bytes cut⟧` {
			t.Fatalf("limit %d: got %q", limit, got)
		}
		decode(t, kept) // no escape is torn
	}
}
