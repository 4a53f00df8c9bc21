package repo_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const reads = `package x

import (
	"os"
	"testing"

	"x/repo"
)

func TestX(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(root + "/page.md"); err != nil {
		t.Fatal(err)
	}
	if err := repo.DependsOnCode(); err != nil {
		t.Fatal(err)
	}
}
`

// The go command runs a test again when a file outside of the module has changed that the test depends on, and only
// then.
func TestResultsAreNotTakenFromTheCacheAfterAChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour) // the go command caches nothing that depends on a file of the last seconds
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		old = old.Add(time.Minute)
		for ; len(path) >= len(dir); path = filepath.Dir(path) {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	source, err := os.ReadFile("repo.go")
	if err != nil {
		t.Fatal(err)
	}
	write("verify/repo/repo.go", string(source))
	write("verify/x_test.go", reads)
	write("verify/go.mod", "module x\n\ngo 1.26.0\n")
	write("code/inner/a.go", "package inner\n")
	write("docs/a.md", "one\n")
	write("page.md", "one\n")
	cached := func() bool {
		t.Helper()
		test := exec.CommandContext(t.Context(), "go", "test", ".")
		test.Dir = filepath.Join(dir, "verify")
		test.Env = append(os.Environ(), "PWD="+test.Dir, "GOFLAGS=", "GOWORK=off")
		out, err := test.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Contains(string(out), "(cached)")
	}
	if cached() || !cached() {
		t.Fatal("a second run without a change is not taken from the cache, or a first one is")
	}
	write("page.md", "two\n")
	if cached() {
		t.Error("a changed page: the result is from the cache")
	}
	write("code/inner/a.go", "package inner // two\n")
	if cached() {
		t.Error("a changed file of a folder: the result is from the cache")
	}
	write("code/b.go", "package code\n")
	if cached() {
		t.Error("a new file of a folder: the result is from the cache")
	}
	write("docs/a.md", "two\n")
	write(".git/index", "two\n")
	if !cached() {
		t.Error("other files: the result is not from the cache")
	}
}
