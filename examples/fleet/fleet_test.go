package main

import (
	"io"
	"strings"
	"testing"
)

func TestFleet(t *testing.T) {
	t.Parallel()
	var printed strings.Builder
	if err := run(t.Context(), &printed); err != nil {
		t.Error(err)
	}
	out := printed.String()
	for _, want := range []string{
		"finding: archive/purge_entries: declares itself read-only, which is not believed",
		"orders/delete_order    dangerous  ask first · never cache · retry if not sent · primary only",
		"✓ all 82 deletions went to the primary",
		"27 deletions asked about, none made",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not have %q:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "✓"); n != 5 {
		t.Errorf("%d promises are shown as kept, want 5:\n%s", n, out)
	}
}

func TestBrokenPromisesAreReported(t *testing.T) {
	t.Parallel()
	got := outcomes{
		"orders/delete_order": {"answered": 2}, "orders/add_note": {"answered": 1}, "orders/get_order": {"failed": 1},
		"archive/purge_entries": {"denied": 1},
	}
	executed := map[string]map[string]int{
		"main": {"delete_order": 1, "add_note": 1}, "copy": {"delete_order": 1, "add_note": 1}, "archive": {"purge_entries": 1},
	}
	if broken := promises(io.Discard, got, executed); len(broken) != 5 {
		t.Errorf("%d broken promises were found, want 5: %v", len(broken), broken)
	}
}
