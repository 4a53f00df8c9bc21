package main

import (
	"testing"
)

// Every mutant still has its line, and no two have one name.
func TestMutantsHaveTheirLines(t *testing.T) {
	t.Parallel()
	root, err := projectRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, m := range all() {
		if seen[m.name] {
			t.Errorf("there are two mutants %q", m.name)
		}
		seen[m.name] = true
		if _, err := place(root, m); err != nil {
			t.Error(err)
		}
	}
	for name := range byTests {
		if !seen[name] {
			t.Errorf("there is no mutant %q for a room's tests to catch", name)
		}
	}
	if len(seen) < 30 {
		t.Errorf("there are %d mutants, want at least 30", len(seen))
	}
}
