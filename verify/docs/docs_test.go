package fairlead_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/fairlead-go/fairlead/internal/docstest"
)

// Every block of Go in the README and in docs/ is a whole program that compiles
// against this checkout, and prints what the page shows after it; the one in the
// README talks to a person and to a server from the network, and is only compiled.
func TestGoCodeInTheDocsCompiles(t *testing.T) {
	t.Parallel()
	files := pages(t)
	docstest.Programs(t, func(file string) bool { return file != "README.md" && file != "docs/recipes/adk.md" }, append([]string{"README.md"}, files...)...)
}

// A link to a file; what stands behind a name is an index of Go.
var localLink = regexp.MustCompile(`(?m)(?:^|[^\w])\[[^\]\n]*\]\(([^)#:]+)(?:#[^)]*)?\)`)

// A link from the README or from docs/ to a file of this repository leads to one.
func TestLinksInTheDocsLeadSomewhere(t *testing.T) {
	t.Parallel()
	files := pages(t)
	modules, err := filepath.Glob("contrib/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, modules...)
	found := 0
	for _, file := range append([]string{"README.md"}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range localLink.FindAllSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), string(m[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no link was found; has their form changed?")
	}
}

// pages are the pages of docs/.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"docs/*.md", "docs/recipes/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	return all
}
