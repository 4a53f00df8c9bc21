package fairlead_test

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var badInputID = regexp.MustCompile(`B[0-9]{3}`)

// Every bad input has a test with its id in the name, or an entry in
// docs/rough_edges.md that says why not.
func TestEveryBadInputHasATest(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "shared", "eval", "badinputs.jsonl")
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("SKIPPED: the bad inputs are not at %s: nobody checks that each has a test", path)
	}
	defer f.Close()
	tested := named(t)
	edges, err := os.ReadFile(filepath.Join("docs", "rough_edges.md"))
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row struct{ ID, Area, Input string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil || row.ID == "" {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		switch {
		case tested[row.ID]:
			counts["tested"]++
		case strings.Contains(string(edges), row.ID):
			counts["a rough edge"]++
		default:
			t.Errorf("%s (%s) has no test: %s", row.ID, row.Area, row.Input)
		}
	}
	t.Log(counts)
}

// named returns the ids in the names of tests: in the name of the function, or in
// a text within a file of tests, as the names of subtests are.
func named(t *testing.T) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	note := func(text string) {
		for _, id := range badInputID.FindAllString(text, -1) {
			found[id] = true
		}
	}
	own := []string{"badinputs_test.go"}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || slices.Contains(own, path) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if strings.HasPrefix(n.Name.Name, "Test") {
					note(n.Name.Name)
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					note(n.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
