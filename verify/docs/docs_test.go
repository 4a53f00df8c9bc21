// Package docs_test checks the documents of all modules: programs, links and versions.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// root is the root of the repository, from this directory.
const root = "../.."

// Every block of Go in the README and in docs/ is a whole program that compiles
// against this checkout, and prints what the page shows after it; the one in the
// README talks to a person and to a server from the network, and is only compiled.
func TestGoCodeInTheDocsCompiles(t *testing.T) {
	t.Parallel()
	programs(t, root, func(file string) bool { return file != "README.md" && file != "docs/recipes/adk.md" }, append([]string{"README.md"}, pages(t)...)...)
}

// A link to a file; what stands behind a name is an index of Go.
var localLink = regexp.MustCompile(`(?m)(?:^|[^\w])\[[^\]\n]*\]\(([^)#:]+)(?:#[^)]*)?\)`)

// A link from a README or from docs/ to a file of this repository leads to one.
func TestLinksInTheDocsLeadSomewhere(t *testing.T) {
	t.Parallel()
	found := 0
	for _, file := range append(pages(t), glob(t, "README.md", "contrib/*/README.md")...) {
		for _, m := range localLink.FindAllStringSubmatch(read(t, root, file), -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no link was found; has their form changed?")
	}
}

// pages returns the pages of docs/.
func pages(t *testing.T) []string {
	t.Helper()
	return glob(t, "docs/*.md", "docs/recipes/*.md")
}

// glob returns the files of the repository that match, relative to its root.
func glob(t *testing.T, patterns ...string) (all []string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	return all
}
