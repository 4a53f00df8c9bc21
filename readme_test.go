package fairlead_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// Every block of Go in the README and in docs/ is a whole program that compiles
// against this checkout. None is skipped: what is no program is not fenced as Go.
func TestGoCodeInTheDocsCompiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append([]string{"README.md"}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := goBlock.FindAllSubmatchIndex(text, -1)
		found += len(blocks)
		for _, at := range blocks {
			line := 1 + bytes.Count(text[:at[2]], []byte("\n"))
			t.Run(fmt.Sprintf("%s:%d", file, line), func(t *testing.T) {
				t.Parallel()
				compile(t, string(text[at[2]:at[3]]))
			})
		}
	}
	if found == 0 {
		t.Error("no block of Go was found; has the fence changed?")
	}
}

// A link to a file; what stands behind a name is an index of Go.
var localLink = regexp.MustCompile(`(?m)(?:^|[^\w])\[[^\]\n]*\]\(([^)#:]+)(?:#[^)]*)?\)`)

// A link from the README or from docs/ to a file of this repository leads to one.
func TestLinksInTheDocsLeadSomewhere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
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

// compile builds the source as a package of this module that exists for this one
// build only.
func compile(t *testing.T, source string) {
	t.Helper()
	if !strings.HasPrefix(source, "package ") {
		t.Fatal("the block is no whole program: begin it with a package clause")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "block.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "internal", "docsblock", "main.go"): file},
	})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlayFile, "-o", os.DevNull, "./internal/docsblock")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
