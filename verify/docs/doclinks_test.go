package docs_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every link of a doc comment ([Name], [pkg.Name], [pkg.Type.Method]) in what is released leads to a name that is there.
func TestDocLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	tree := readDocs(t, root)
	if links := tree.check(t); links < 300 {
		t.Errorf("%d links were found, want at least 300; has their form changed?", links)
	}
	for _, fault := range tree.faults {
		t.Error(fault)
	}
}

func TestDeadDocLinksAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module " + modulePath + "\n\ngo 1.26.0\n",
		"a/a.go": `// Package a has [T], [T.F], [*T.M], [I.N], [a.T], [io.Reader.Read], [b.B], [json.Marshal] and m[Key].
//
//   - [io.Nothing]
//   - [b.Nothing] of [Gone]
package a

import (
	"io"

	"` + modulePath + `/b"
)

// A T is a [T.Nothing].
type T struct {
	F io.Reader // as in [c.C]
}

// M is [F], in code:
//
//	[Code]
func (T) M() {}

type I interface {
	// N is as [b.B.Nothing]
	N(b.B)
}

func f() {
	// [Inside] of a function
}
`,
		"b/b.go":      "package b\n\n// B is of [" + modulePath + "/a.T] and [" + modulePath + "/none.T].\ntype B int\n",
		"b/b_test.go": "package b\n\n// A is of [Nothing]\ntype A int\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree := readDocs(t, dir)
	links := tree.check(t)
	want := []string{
		"a/a.go:13: [T.Nothing]", "a/a.go:15: [c.C]", "a/a.go:18: [F]", // F alone is not a name
		"a/a.go:1: [Gone]", "a/a.go:1: [b.Nothing]", "a/a.go:1: [io.Nothing]",
		"a/a.go:1: [json.Marshal]", // the file does not import encoding/json
		"a/a.go:24: [b.B.Nothing]",
		"b/b.go:3: [" + modulePath + "/none.T]",
	}
	const alive = 8 // in the head of a.go seven, and one in b.go
	if got := tree.faults; !slices.Equal(got, want) || links != alive+len(want) {
		t.Errorf("got %d links and the faults\n%s\nwant %d links and\n%s",
			links, strings.Join(got, "\n"), alive+len(want), strings.Join(want, "\n"))
	}
}

const modulePath = "github.com/fairlead-go/fairlead"

// A docTree has the doc comments of a repository.
type docTree struct {
	dir      string
	packages map[string]*docPackage // by import path
	modules  []string               // their folders, an inner one after the outer one
	faults   []string               // sorted
}

type docPackage struct {
	folder string
	set    *token.FileSet
	files  []*ast.File
	parser *comment.Parser
}

// readDocs reads what is released: without tests, verify/ and the recipes of docs/.
func readDocs(t *testing.T, dir string) *docTree {
	t.Helper()
	tree := &docTree{dir: dir, packages: make(map[string]*docPackage)}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "verify" || name == "docs" || d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Name() == "go.mod":
			tree.modules = append(tree.modules, path.Dir(name))
		case d.IsDir():
			files, err := fs.Glob(os.DirFS(dir), path.Join(name, "*.go"))
			if err != nil {
				return err
			}
			files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
			p, err := readDocPackage(dir, path.Join(modulePath, name), files)
			if err != nil {
				return err
			}
			if p != nil {
				p.folder = name
				tree.packages[path.Join(modulePath, name)] = p
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// readDocPackage reads files, given from dir; nil for none.
func readDocPackage(dir, importPath string, names []string) (*docPackage, error) {
	p := &docPackage{set: token.NewFileSet()}
	for _, name := range names {
		text, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(p.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
	}
	if len(p.files) == 0 {
		return nil, nil // that there is none is not an error
	}
	d, err := doc.NewFromFiles(p.set, p.files, importPath, doc.AllDecls|doc.AllMethods|doc.PreserveAST)
	if err != nil {
		return nil, err
	}
	p.parser = d.Parser()
	return p, nil
}

// A docLink is a link to a name in another package.
type docLink struct {
	place, text string
	*comment.DocLink
}

// check fills in the faults, and returns how many links there are.
func (tree *docTree) check(t *testing.T) (links int) {
	t.Helper()
	foreign := make(map[string][]docLink) // by module
	for _, p := range tree.packages {
		look := func(n ast.Node) bool {
			group, ok := n.(*ast.CommentGroup)
			if !ok {
				_, body := n.(*ast.BlockStmt)
				return !body
			}
			place := fmt.Sprintf("%s:%d", p.set.Position(group.Pos()).Filename, p.set.Position(group.Pos()).Line)
			for _, text := range walkText(p.parser.Parse(group.Text()).Content) {
				switch text := text.(type) {
				case comment.Plain:
					for _, m := range unresolved.FindAllStringSubmatch(string(text), -1) {
						links++
						tree.faults = append(tree.faults, place+": "+m[1])
					}
				case *comment.DocLink:
					links++
					name := strings.TrimPrefix(text.Recv+"."+text.Name, ".")
					switch {
					case text.ImportPath != "":
						of := tree.moduleOf(p.folder)
						foreign[of] = append(foreign[of], docLink{place, "[" + plain(text) + "]", text})
					case name != "" && !p.parser.LookupSym(text.Recv, text.Name):
						tree.faults = append(tree.faults, place+": ["+plain(text)+"]")
					}
				}
			}
			return false
		}
		for _, file := range p.files {
			ast.Inspect(file, look)
		}
	}
	for module, links := range foreign {
		tree.checkForeign(t, module, links)
	}
	slices.Sort(tree.faults)
	return links
}

// unresolved is what would be a link if its name were there.
var unresolved = regexp.MustCompile(`(?:^|[\s\pP])(\[\*?(?:[\w./-]*\w\.)?[A-Z]\w*(?:\.[A-Z]\w*)?\])(?:$|[\s\pP])`)

func plain(l *comment.DocLink) (text string) {
	for _, t := range l.Text {
		if t, ok := t.(comment.Plain); ok {
			text += string(t)
		}
	}
	return text
}

// walkText returns the texts of blocks, without code.
func walkText(blocks []comment.Block) (all []comment.Text) {
	for _, block := range blocks {
		switch block := block.(type) {
		case *comment.Heading:
			all = append(all, block.Text...)
		case *comment.Paragraph:
			all = append(all, block.Text...)
		case *comment.List:
			for _, item := range block.Items {
				all = append(all, walkText(item.Content)...)
			}
		}
	}
	return all
}

func (tree *docTree) moduleOf(folder string) (best string) {
	for _, m := range tree.modules {
		if m == "." && best == "" || strings.HasPrefix(folder+"/", m+"/") {
			best = m
		}
	}
	return best
}

// checkForeign looks up the links of a module to packages that are not of this repository, or of another package of it.
func (tree *docTree) checkForeign(t *testing.T, module string, links []docLink) {
	t.Helper()
	missing := make(map[string]bool)
	for _, l := range links {
		if tree.packages[l.ImportPath] == nil && !strings.HasPrefix(l.ImportPath, modulePath+"/") {
			missing[l.ImportPath] = true
		}
	}
	packages := maps.Clone(tree.packages) // versions differ between modules
	for importPath, dir := range folders(t, filepath.Join(tree.dir, module), slices.Sorted(maps.Keys(missing))) {
		b, err := build.ImportDir(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if packages[importPath], err = readDocPackage(dir, importPath, append(b.GoFiles, b.CgoFiles...)); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range links {
		if p := packages[l.ImportPath]; p == nil || l.Name != "" && !p.parser.LookupSym(l.Recv, l.Name) {
			tree.faults = append(tree.faults, l.place+": "+l.text)
		}
	}
}

// folders returns where packages are whose paths a module may import.
func folders(t *testing.T, dir string, paths []string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	if len(paths) == 0 {
		return all
	}
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-f", "{{.ImportPath}}\t{{.Dir}}"}, paths...)...)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if importPath, folder, _ := strings.Cut(strings.TrimSpace(line), "\t"); folder != "" {
			all[importPath] = folder
		}
	}
	return all
}
