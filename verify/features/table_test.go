package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "features.md")
	text := "# Features\n\n| id | what | tests | page |\n|---|---|---|---|\n" +
		"| cache-1 | remembers | `cache.TestA`, `hitl/approvals.TestB` | [cache](cache.md#how) |\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := read(path)
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if got := fmt.Sprint(rows[0]); got != "{cache-1 remembers [cache.TestA hitl/approvals.TestB] cache.md}" {
		t.Error(got)
	}
	if err := os.WriteFile(path, []byte("| cache-1 | one |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path); err == nil {
		t.Error("a row of two cells was taken")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var good []row
	for i := range 5 {
		good = append(good, row{fmt.Sprint("x-", i), "does", []string{fmt.Sprint("x.Test", i)}, "p.md"})
	}
	if faults := check(good, dir); len(faults) > 0 {
		t.Error(faults)
	}
	for want, change := range map[string]func(rows []row) []row{
		"x-0 occurs twice":    func(r []row) []row { return append(r, r[0]) },
		"has no description":  func(r []row) []row { r[0].what = ""; return r },
		"names no test":       func(r []row) []row { r[0].tests = nil; return r },
		"does not exist":      func(r []row) []row { r[0].page = "q.md"; return r },
		"serves 4 rows, more": func(r []row) []row { r[1].tests, r[2].tests, r[3].tests = r[0].tests, r[0].tests, r[0].tests; return r },
	} {
		if faults := check(change(slices.Clone(good)), dir); !strings.Contains(fmt.Sprint(faults), want) {
			t.Errorf("got %v, want %q", faults, want)
		}
	}
}

// A test that is missing, fails or is skipped proves nothing, whether it is run or its results are read.
func TestUnshownTestsAreNamed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "x")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":    "module github.com/fairlead-go/fairlead/x\n\ngo 1.26.0\n",
		"x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\nfunc TestBad(t *testing.T) { t.Fail() }\nfunc TestOff(t *testing.T) { t.Skip() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rows := []row{{tests: []string{"x.TestGood", "x.TestBad", "x.TestOff", "x.TestNone"}}}
	ran, err := run(t.Context(), root, rows)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "results.json")
	written := `{"Action":"pass","Package":"github.com/fairlead-go/fairlead/x","Test":"TestGood"}
{"Action":"skip","Package":"github.com/fairlead-go/fairlead/x","Test":"TestGood"}
# a message of the go command
{"Action":"fail","Package":"github.com/fairlead-go/fairlead/x","Test":"TestBad"}
{"Action":"skip","Package":"github.com/fairlead-go/fairlead/x","Test":"TestOff"}
{"Action":"run","Package":"github.com/fairlead-go/fairlead/x","Test":"TestNone"}
{"Action":"pass","Package":"github.com/fairlead-go/fairlead/x"}`
	if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile, err := readAll([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"x.TestBad: it fails", "x.TestNone: it was not run", "x.TestOff: it is skipped"}
	for name, results := range map[string]outcomes{"ran": ran, "read": fromFile} {
		if got := unshown(rows, results); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if _, err := readAll([]string{filepath.Join(root, "missing.json")}); err == nil {
		t.Error("a file that is missing was read")
	}
}
