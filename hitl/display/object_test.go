package display

import "testing"

func TestPlural(t *testing.T) {
	t.Parallel()
	for noun, want := range map[string]string{"query": "queries", "key": "keys", "survey": "surveys", "relation": "relations", "y": "ys"} {
		if got := plural(noun); got != want {
			t.Errorf("plural(%q) = %q, want %q", noun, got, want)
		}
	}
}
