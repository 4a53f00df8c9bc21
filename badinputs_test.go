package fairlead_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite verify/features/badinputs.md")

var badInputID = regexp.MustCompile(`B[0-9]{3}`)

// The ids of bad inputs in test names are listed in a file, with the cases of each.
func TestBadInputsAreListed(t *testing.T) {
	t.Parallel()
	cases := badInputCases(t)
	var b strings.Builder
	b.WriteString("# Bad inputs\n\nEach tested bad input has an id, which is in the names of its tests. This list is generated:\n" +
		"`go test . -run TestBadInputsAreListed -update`.\n\n| id | tests | cases |\n|---|---|---|\n")
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		packages, texts := make(map[string]bool), make(map[string]bool)
		for _, c := range cases[id] {
			packages["`"+filepath.ToSlash(c.dir)+"`"] = true
			if c.text != "" {
				texts[c.text] = true
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", id, strings.Join(slices.Sorted(maps.Keys(packages)), " "), strings.Join(slices.Sorted(maps.Keys(texts)), "; "))
	}
	path := filepath.Join("verify", "features", "badinputs.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != b.String() {
		t.Errorf("%s is not what the tests say (%v); run this test with -update", path, err)
	}
}

// Every bad input has a test with its id in the name, or an entry in
// docs/explanation/what-it-cannot-do.md that says why not.
func TestEveryBadInputHasATest(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "shared", "eval", "badinputs.jsonl")
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("SKIPPED: the bad inputs are not at %s: whether each has a test is not checked", path)
	}
	defer f.Close()
	tested := badInputCases(t)
	edges, err := os.ReadFile(filepath.Join("docs", "explanation", "what-it-cannot-do.md"))
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
		case tested[row.ID] != nil:
			counts["tested"]++
		case strings.Contains(string(edges), row.ID):
			counts["a rough edge"]++
		default:
			t.Errorf("%s (%s) has no test: %s", row.ID, row.Area, row.Input)
		}
	}
	t.Log(counts)
}

// A badInputCase is a test of a bad input: the folder of its package, and what its case
// is called.
type badInputCase struct{ dir, text string }

// badInputCases returns the ids in the names of tests: in the name of the function, or
// in a text within a file of tests, as the names of subtests are.
func badInputCases(t *testing.T) map[string][]badInputCase {
	t.Helper()
	found := make(map[string][]badInputCase)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || path == "badinputs_test.go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		note := func(name, text string) {
			for _, id := range badInputID.FindAllString(name, -1) {
				found[id] = append(found[id], badInputCase{filepath.Dir(path), text})
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if strings.HasPrefix(n.Name.Name, "Test") {
					note(n.Name.Name, "")
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && len(text) < 100 && !strings.Contains(text, "://") {
					note(text, strings.TrimLeft(badInputID.ReplaceAllString(text, ""), " :,"))
				} else if n.Kind == token.STRING && len(n.Value) >= 100 {
					note(n.Value, "")
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
