package safetext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

func TestWrapBreaksBehindABlankAndLosesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"between words", "completely overwrite a file", []string{"completely ", "overwrite a ", "file"}},
		{"a word that is too long", "overwhelmingly so", []string{"overwhelming", "ly so"}},
		{"a blank in the first half alone", "an overwhelming one", []string{"an overwhelm", "ing one"}},
		{"one that fits", "a short text", []string{"a short text"}},
		{"nothing", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := safetext.Wrap(tt.text, 12)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.Join(got, "") != tt.text {
				t.Errorf("got %q, want every character of %q", got, tt.text)
			}
		})
	}
}
