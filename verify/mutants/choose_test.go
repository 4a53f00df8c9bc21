package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Mutants in changed files are chosen, and of the others as many as asked, the same ones for one commit.
func TestChosenAreChangedFilesAndASample(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	command := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", root, "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command("init", "-q")
	write("a.go", "1")
	write("b.go", "1")
	write("c.go", "1")
	command("add", ".")
	command("commit", "-q", "-m", "one")
	write("a.go", "2")
	command("commit", "-q", "-a", "-m", "two")
	write("c.go", "not committed")

	var all []*placed
	for i := range 30 {
		for _, file := range []string{"a.go", "b.go", "c.go"} {
			all = append(all, &placed{mutant: mutant{name: fmt.Sprintf("%s-%d", file, i), file: file}})
		}
	}
	got, err := choice{since: "HEAD~1", sample: 4}.choose(t.Context(), root, all)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, p := range got {
		counts[p.file]++
	}
	if counts["a.go"] != 30 || counts["c.go"] != 30 || counts["b.go"] != 4 {
		t.Errorf("got %v, want all of a.go and c.go, and four of b.go", counts)
	}
	again, err := choice{since: "HEAD~1", sample: 4}.choose(t.Context(), root, all)
	if err != nil || !slices.Equal(got, again) {
		t.Errorf("the same commit gave another sample: %v", err)
	}
	if _, err := (choice{since: "no-such-revision"}).choose(t.Context(), root, all); err == nil {
		t.Error("an unknown revision chose something")
	}
}

func TestSampleDependsOnTheKey(t *testing.T) {
	t.Parallel()
	var all []*placed
	for i := range 100 {
		all = append(all, &placed{mutant: mutant{name: fmt.Sprint(i)}})
	}
	every := func(*placed) bool { return true }
	one, other := sample(all, "one", 20, every), sample(all, "other", 20, every)
	same := 0
	for name := range one {
		if other[name] {
			same++
		}
	}
	if len(one) != 20 || len(other) != 20 || same == 20 {
		t.Errorf("%d and %d were drawn, %d in both", len(one), len(other), same)
	}
	if got := len(sample(all, "one", 1000, every)); got != 100 {
		t.Errorf("%d of 100 were drawn, want all", got)
	}
}
