package main

import (
	"go/parser"
	"go/token"
	"io/fs"
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
	mutants, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, m := range mutants {
		if seen[m.name] {
			t.Errorf("there are two mutants %q", m.name)
		}
		seen[m.name] = true
		if strings.Contains(m.find, "//") {
			t.Errorf("mutant %s looks for a comment; code alone is looked at: %s", m.name, m.find)
		}
		if p, err := place(root, m); err != nil {
			t.Error(err)
		} else if _, err := parser.ParseFile(token.NewFileSet(), m.file, p.source(), 0); err != nil {
			t.Errorf("mutant %s is not Go: %v", m.name, err)
		}
		if these, _ := m.look(); !these.exist(t, root) {
			t.Errorf("mutant %s is stale: %s has not all of the tests %s", m.name, these.folder, these.run)
		}
	}
	if len(seen) < 30 {
		t.Errorf("there are %d mutants, want at least 30", len(seen))
	}
}

// The page of the mutants has a row for each mutant, and for no other.
func TestPageListsMutants(t *testing.T) {
	t.Parallel()
	rows := make(map[string]string)
	for _, row := range pageRow.FindAllStringSubmatch(page, -1) {
		if rows[row[1]] != "" {
			t.Errorf("verify/mutants/README.md has two rows for %s", row[1])
		}
		rows[row[1]] = row[3]
	}
	mutants, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		these, simulated := m.look()
		switch breaks := rows[m.name]; {
		case breaks == "":
			t.Errorf("verify/mutants/README.md has no row for %s", m.name)
		case !simulated && !regexp.MustCompile(these.run).MatchString(breaks):
			t.Errorf("verify/mutants/README.md names %s for %s, want a test of %s", breaks, m.name, these.run)
		case simulated && !strings.HasPrefix(breaks, "I"):
			t.Errorf("verify/mutants/README.md names %s for %s, want an invariant", breaks, m.name)
		}
		delete(rows, m.name)
	}
	for name := range rows {
		t.Errorf("verify/mutants/README.md has a row for %s, which is not a mutant", name)
	}
}

// exist reports whether each alternative of the expression names a test.
func (s tests) exist(t *testing.T, root string) bool {
	t.Helper()
	tree := os.DirFS(root)
	files, err := fs.Glob(tree, s.folder+"/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	return !slices.ContainsFunc(strings.Split(strings.Trim(s.run, "^$"), "|"), func(name string) bool {
		return !regexp.MustCompile(`(?m)^func ` + name).MatchString(source.String())
	})
}

// Only code counts, not comments, and the error names the mutant that is stale.
func TestPlaceLooksAtCodeOnly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := "package p\n\n// f returns x.\nfunc f() int {\n\tx := 1\n\treturn x // x is 1\n}\n"
	if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := place(root, mutant{name: "m", file: "p.go", find: "return x", with: "return 0"})
	if err != nil || p.line != 6 || !strings.Contains(string(p.source()), "\treturn 0\n") {
		t.Error(p, err)
	}
	stale, err := parse("gone p.go\n- return y\n+ 0\n\nprose p.go\n- x is 1\n+ 0\n\ntwice p.go\n- x\n+ 0\n\nmoved q.go\n- x\n+ 0\n")
	if err != nil || len(stale) != 4 {
		t.Error(stale, err)
	}
	for _, m := range stale {
		if _, err := place(root, m); err == nil || !strings.Contains(err.Error(), "mutant "+m.name+" is stale: "+m.file) || m.file == "p.go" && !strings.Contains(err.Error(), m.find) {
			t.Errorf("%s: got %v", m.name, err)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse("# a comment\n\nm p.go\n- \tif x {\n- \t\treturn\n+ \n? p TestX$\n")
	if want := []mutant{{"m", "p.go", "\tif x {\n\t\treturn", "", tests{"p", "TestX$"}}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	for _, wrong := range []string{"m p.go", "m p.go\n- x", "m p.go\n+ x\n- x", "m p.go\n- x\n+ y\n+ z", "m p.go\n- x\n+ y\n- z", "m p.go\n- x\n+ y\nn p.go"} {
		if got, err := parse(wrong); err == nil {
			t.Errorf("%q: got %q, want an error", wrong, got)
		}
	}
}
