package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/bm25"
)

// The terms of a question: meaningful words, in parts if no tool has them whole; what an address is in place
// of its words; what else a word is called, for less.
func TestTerms(t *testing.T) {
	t.Parallel()
	x := bm25.New([]bm25.Field{{Weight: 1}}, [][]string{{"webpage"}, {"screen shot"}, {"delete"}})
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"please delete it", "delet"},
		{"what is it", "what is it"}, // there is nothing else
		{"delete, deleted, DELETING", "delet"},
		{"screenShot", "screenshot screen shot"},
		{"webPage", "webpag"},
		{"https://example.com/delete", "url"},
		{"ann@example.com", "email"},
		{"/etc/passwd", "path"},
		{"frobnicateThing", "frobnicateth frobnic thing"},
	} {
		var got []string
		for _, term := range terms(x, tt.text) {
			got = append(got, term[0].Stem)
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
	term := terms(x, "clone")[0]
	if got := fmt.Sprint(term); !strings.HasPrefix(got, "[{clon 1} ") || !strings.Contains(got, "{copi 0.6}") {
		t.Errorf("got %s", got)
	}
}
