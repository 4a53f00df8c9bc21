package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

// Every mutant still has its line of code, its tests and a name of its own.
func TestMutantsArePlaced(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, m := range all() {
		if seen[m.name] {
			t.Errorf("there are two mutants %q", m.name)
		}
		seen[m.name] = true
		if strings.Contains(m.find, "//") {
			t.Errorf("mutant %s looks for a comment; code alone is looked at: %s", m.name, m.find)
		}
		if _, err := place(root, m); err != nil {
			t.Error(err)
		}
		if these, _ := testsOf(m); !these.exist(t, root) {
			t.Errorf("mutant %s is stale: %s has not all of the tests %s", m.name, these.folder, these.run)
		}
	}
	for name := range byTests {
		if !seen[name] {
			t.Errorf("there is no mutant %q for the tests of a package to catch", name)
		}
	}
	if len(seen) < 30 {
		t.Errorf("there are %d mutants, want at least 30", len(seen))
	}
}

// The page of the guarantees has a row for each mutant, and for no other.
func TestGuaranteesListMutants(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([^ ]+) \\| `?(\\w+)").FindAllStringSubmatch(string(page), -1) {
		if rows[row[1]] != "" {
			t.Errorf("docs/guarantees.md has two rows for %s", row[1])
		}
		rows[row[1]] = row[3]
	}
	for _, m := range all() {
		these, simulated := testsOf(m)
		switch breaks := rows[m.name]; {
		case breaks == "":
			t.Errorf("docs/guarantees.md has no row for %s", m.name)
		case !simulated && !regexp.MustCompile(these.run).MatchString(breaks):
			t.Errorf("docs/guarantees.md names %s for %s, want a test of %s", breaks, m.name, these.run)
		case simulated && !strings.HasPrefix(breaks, "I"):
			t.Errorf("docs/guarantees.md names %s for %s, want an invariant", breaks, m.name)
		}
		delete(rows, m.name)
	}
	for name := range rows {
		t.Errorf("docs/guarantees.md has a row for %s, which is no mutant", name)
	}
}

// exist reports whether each alternative of the expression names a test.
func (s tests) exist(t *testing.T, root string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, s.folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	return !slices.ContainsFunc(strings.Split(strings.Trim(s.run, "^$"), "|"), func(name string) bool {
		return !regexp.MustCompile(`(?m)^func ` + name).MatchString(source.String())
	})
}

// The code is looked at and not the comments, and whoever changes it hears which mutant
// has lost its place.
func TestPlaceLooksAtCodeOnly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := "package p\n\n// f returns x.\nfunc f() int {\n\tx := 1\n\treturn x // x is 1\n}\n"
	if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := place(root, mutant{"m", "p.go", "return x", "return 0"})
	if err != nil || p.line != 6 || !strings.Contains(string(p.source), "\treturn 0\n") {
		t.Error(p, err)
	}
	for _, m := range []mutant{{"gone", "p.go", "return y", ""}, {"prose", "p.go", "x is 1", ""}, {"twice", "p.go", "x", ""}, {"moved", "q.go", "x", ""}} {
		if _, err := place(root, m); err == nil || !strings.Contains(err.Error(), "mutant "+m.name+" is stale: "+m.file) || m.file == "p.go" && !strings.Contains(err.Error(), m.find) {
			t.Errorf("%s: got %v", m.name, err)
		}
	}
}
