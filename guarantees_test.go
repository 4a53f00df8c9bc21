package fairlead_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	citedTest = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz|Example)\\w*)`")
	promise   = regexp.MustCompile(`(?m)^### I(\d+) .+$`)
)

// Every promise stands on the page, in order, with a test that proves it; and every
// test that the page names is there.
func TestGuaranteesNameTestsThatAreThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("docs", "reference", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	heads := promise.FindAllStringIndex(text, -1)
	if len(heads) != 22 {
		t.Fatalf("the page has %d promises, want 22", len(heads))
	}
	for i, head := range heads {
		until, _, _ := strings.Cut(text[head[1]:], "\n#")
		if want := fmt.Sprintf("### I%d ", i+1); !strings.HasPrefix(text[head[0]:], want) {
			t.Errorf("promise %d begins with %.20q", i+1, text[head[0]:head[1]])
		}
		if !citedTest.MatchString(until) {
			t.Errorf("I%d names no test", i+1)
		}
	}
	tests := make(map[string]map[string]bool)
	cited := citedTest.FindAllStringSubmatch(text, -1)
	for _, c := range cited {
		room, name := c[1], c[2]
		if tests[room] == nil {
			tests[room] = testsOf(t, room)
		}
		if !tests[room][name] {
			t.Errorf("the page names %s.%s, which is not there", room, name)
		}
	}
	t.Logf("%d promises, %d tests", len(heads), len(cited))
}

// testsOf returns the names of the tests of one package.
func testsOf(t *testing.T, room string) map[string]bool {
	t.Helper()
	dir := room
	if room == "fairlead" {
		dir = "."
	}
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}
