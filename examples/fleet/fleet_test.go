package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The test binary is the program, for its servers run it again.
func TestMain(m *testing.M) {
	if name := os.Getenv(serverKey); name != "" {
		if err := serve(name); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The whole program: three processes, 1,000 calls, and every promise kept.
func TestFleet(t *testing.T) {
	t.Parallel()
	program := t.TempDir() + "/fleet"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"finding: archive/purge_entries: declares itself read-only, which is not believed",
		"orders/delete_order    dangerous  ask first · never cache · retry if not sent · primary only",
		"✓ all 82 deletions went to the primary",
		"27 deletions asked about, none made",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output does not say %q:\n%s", want, out)
		}
	}
	// 82 and 27, or fewer: of two that are alike and asked about at once, one no is for both.
	if !regexp.MustCompile(`1000 calls, (8[3-9]|9\d|10\d) of them asked about`).Match(out) {
		t.Errorf("the output does not say how many calls were asked about:\n%s", out)
	}
	if n := strings.Count(string(out), "✓"); n != 5 {
		t.Errorf("%d promises are shown as kept, want 5:\n%s", n, out)
	}
}

// A promise that is broken is told as such, and ends the program with an error.
func TestABrokenPromiseIsTold(t *testing.T) {
	got := answers{
		"orders/delete_order": {"answered": 2}, "orders/add_note": {"answered": 1}, "orders/get_order": {"failed": 1},
		"archive/purge_entries": {"denied": 1},
	}
	books := map[string]map[string]int{
		"main": {"delete_order": 1, "add_note": 1}, "copy": {"delete_order": 1, "add_note": 1}, "archive": {"purge_entries": 1},
	}
	if broken := new(fleet).promises(got, books); len(broken) != 5 {
		t.Errorf("%d broken promises were found, want 5: %v", len(broken), broken)
	}
}
