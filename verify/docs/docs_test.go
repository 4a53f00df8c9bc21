// Package docs_test checks the documents of all modules: programs, links and versions.
package docs_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

// root is the root of the repository. Files below it are named as root+"/"+file, see package repo.
var root = func() string {
	root, err := repo.Root()
	if err != nil {
		panic(err)
	}
	return root
}()

// Every block of Go in the README and in docs/ is a whole program that compiles
// against this checkout, and prints what the page shows after it. The page on
// replicas needs the module of Redis too.
func TestGoCodeInTheDocsCompiles(t *testing.T) {
	t.Parallel()
	const replicas = "docs/howto/share-state-over-replicas.md"
	files := append(pages(t), "README.md")
	programs(t, root, true, slices.DeleteFunc(files, func(file string) bool { return file == replicas })...)
	programs(t, root+"/verify", false, "../"+replicas)
}

// A link; text behind a name, as in s[i](x), is Go.
var link = regexp.MustCompile(`(?m)(?:^|[^\w])\[[^\]]*\]\(([^)#:\s]*)(?:#([^)]*))?\)`)

// A link from a page leads to a file of this repository, and to a heading of it.
func TestLinksInTheDocsLeadSomewhere(t *testing.T) {
	t.Parallel()
	found := 0
	for _, file := range append(pages(t), glob(t, "*.md", "*/*.md", "*/*/README.md")...) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, root, file), ""), -1) {
			found++
			target := file
			if m[1] != "" {
				target = path.Join(path.Dir(file), m[1])
			}
			if _, err := os.Stat(root + "/" + target); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if m[2] != "" && !slices.Contains(headings(read(t, root, target)), m[2]) {
				t.Errorf("%s links to %s#%s, and %s has no such heading", file, m[1], m[2], target)
			}
		}
	}
	if found == 0 {
		t.Error("no link was found; has their form changed?")
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^(````?)\\w*\n.*?^````?$")
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// headings returns the anchors that a renderer gives to the headings of a page.
func headings(text string) (anchors []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		anchors = append(anchors, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return anchors
}

// A line of the README fits a terminal of 120 columns, where it is read as text.
func TestReadmeHasNoLongLines(t *testing.T) {
	t.Parallel()
	for i, line := range strings.Split(read(t, root, "README.md"), "\n") {
		if n := utf8.RuneCountInString(line); n > 120 {
			t.Errorf("line %d of the README has %d characters, want at most 120", i+1, n)
		}
	}
}

// The index has every page.
func TestIndexHasEveryPage(t *testing.T) {
	t.Parallel()
	index := read(t, root, "docs/README.md")
	for _, file := range pages(t) {
		if file != "docs/README.md" && !strings.Contains(index, "]("+strings.TrimPrefix(file, "docs/")+")") {
			t.Errorf("docs/README.md does not link to %s", file)
		}
	}
}

// No two pages begin with the same words, since a reader who opens several of them would read past their first sentence.
func TestPagesBeginInTheirOwnWords(t *testing.T) {
	t.Parallel()
	const words = 3
	first := make(map[string]string)
	for _, file := range append(pages(t), "README.md", "CHANGELOG.md", "SECURITY.md") {
		if strings.HasPrefix(file, "docs/design/") {
			continue // a note begins with its context
		}
		_, text, _ := strings.Cut(fenced.ReplaceAllString(read(t, root, file), ""), "\n\n") // behind the title
		opening := strings.Fields(text)
		if len(opening) < words {
			t.Errorf("%s has no opening", file)
			continue
		}
		begin := strings.ToLower(strings.Join(opening[:words], " "))
		if other := first[begin]; other != "" {
			t.Errorf("%s and %s begin with the same words, %q", other, file, begin)
		}
		first[begin] = file
	}
	if len(first) < 40 {
		t.Errorf("%d pages were read, want at least 40", len(first))
	}
}

// pages returns the pages of docs/ for users, without the design notes, which have an index of their own.
func pages(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(glob(t, "docs/*.md", "docs/*/*.md"), func(file string) bool {
		return strings.HasPrefix(file, "docs/design/")
	})
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
