package nearest_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/nearest"
)

func TestOf(t *testing.T) {
	t.Parallel()
	flags := []string{"arguments", "audit", "config", "lock", "server", "timeout"}
	for word, want := range map[string]string{
		"args": "arguments", "Confg": "config", "lokc": "lock", "servers": "server", "auditt": "audit",
		"frobnicate": "", "x": "", "": "", "é": "", "lo": "",
	} {
		if got := nearest.Of(word, flags); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	if got := nearest.Of("ab", []string{"abd", "abc"}); got != "abc" {
		t.Errorf("of two that are as near, got %q, want the first by name", got)
	}
}
