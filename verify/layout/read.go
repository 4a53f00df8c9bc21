package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// prefix is the path of the root module, and that of the others begins with it.
const prefix = "github.com/fairlead-go/fairlead"

type module struct {
	path, dir string // dir is from the root of the repository, with slashes
	packages  []*pkg // by path
}

type pkg struct {
	path    string
	name    string
	lines   int             // of files that are no tests
	names   map[string]bool // exported, at top level
	imports []string        // of the same module, without those of tests
	upward  []string        // those of them that are above it
	foreign []string        // imports of other modules' internal packages
}

// exported reports whether the package is one for users.
func (p *pkg) exported() bool {
	return p.name != "main" && !slices.Contains(strings.Split(p.path, "/"), "internal")
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// read returns the modules of the repository, by path, with their packages.
func read(root string) ([]*module, error) {
	tree := os.DirFS(root)
	var modules []*module
	var files []string
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name != "." && strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case name == "go.mod":
			text, err := fs.ReadFile(tree, file)
			if err != nil {
				return err
			}
			found := moduleLine.FindSubmatch(text)
			if found == nil {
				return fmt.Errorf("%s names no module", file)
			}
			modules = append(modules, &module{path: string(found[1]), dir: path.Dir(file)})
		case strings.HasSuffix(name, ".go"):
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(modules, func(a, b *module) int { return cmp.Compare(a.path, b.path) })
	for _, file := range files {
		m := moduleOf(modules, func(m *module) bool { return m.dir == "." || strings.HasPrefix(file, m.dir+"/") })
		if m == nil {
			return nil, errors.New(file + " is in no module")
		}
		text, err := fs.ReadFile(tree, file)
		if err == nil {
			err = m.add(modules, file, text)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, m := range modules {
		if m.path == prefix {
			m.order()
		}
		slices.SortFunc(m.packages, func(a, b *pkg) int { return cmp.Compare(a.path, b.path) })
	}
	return modules, nil
}

// moduleOf returns the innermost of the modules that hold something, nil for none.
func moduleOf(modules []*module, holds func(*module) bool) (innermost *module) {
	for _, m := range modules {
		if holds(m) && (innermost == nil || len(m.dir) > len(innermost.dir) || innermost.dir == ".") {
			innermost = m
		}
	}
	return innermost
}

// add takes a file into its package.
func (m *module) add(modules []*module, file string, text []byte) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	own := path.Join(m.path, strings.TrimPrefix(strings.TrimPrefix(path.Dir(file), m.dir), "/"))
	if m.dir == "." {
		own = path.Join(m.path, path.Dir(file))
	}
	at := slices.IndexFunc(m.packages, func(p *pkg) bool { return p.path == own })
	if at < 0 {
		at = len(m.packages)
		m.packages = append(m.packages, &pkg{path: own, names: make(map[string]bool)})
	}
	p, test := m.packages[at], strings.HasSuffix(file, "_test.go")
	if !test {
		p.name = parsed.Name.Name
		p.lines += bytes.Count(text, []byte("\n"))
		for _, d := range parsed.Decls {
			p.declares(d)
		}
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.HasPrefix(imported+"/", prefix+"/") {
			continue
		}
		other := moduleOf(modules, func(m *module) bool { return strings.HasPrefix(imported+"/", m.path+"/") })
		if other != m && strings.Contains(imported+"/", "/internal/") {
			p.foreign = append(p.foreign, imported)
		}
		if !test && other == m && imported != own {
			p.imports = append(p.imports, imported)
		}
	}
	for _, list := range []*[]string{&p.imports, &p.foreign} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return nil
}

// order notes which imports point upward.
func (m *module) order() {
	rank := make(map[string]int)
	for _, p := range m.packages {
		rank[p.path] = p.rank()
	}
	for _, p := range m.packages {
		for _, path := range p.imports {
			if rank[path] > rank[p.path] {
				p.upward = append(p.upward, path)
			}
		}
	}
}

// declares adds the exported names of a declaration.
func (p *pkg) declares(d ast.Decl) {
	add := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				p.names[name.Name] = true
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name)
		}
	case *ast.GenDecl:
		ofType := false
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add(spec.Name)
			case *ast.ValueSpec:
				if d.Tok == token.CONST && spec.Type != nil {
					_, ofType = spec.Type.(*ast.Ident) // of this package, or a basic one
				} else if len(spec.Values) > 0 {
					ofType = false
				}
				if !ofType {
					add(spec.Names...)
				}
			}
		}
	}
}

// leaves are at the bottom of the order of imports, and so is a package under internal/
// that imports nothing of ours.
var leaves = []string{"annotation", "middleware"}

// shared are the exported packages that are in one row with those under internal/.
var shared = []string{"redact", "safetext"}

// rank returns the place of a package of the root module in the order of imports: a
// package imports those of its own rank and of lower ones.
func (p *pkg) rank() int {
	rest := strings.TrimPrefix(p.path, prefix+"/")
	top, _, _ := strings.Cut(rest, "/")
	switch {
	case p.name == "main", top == "examples", strings.HasSuffix(path.Base(rest), "test"):
		return 4 // programs, and kits for tests
	case slices.Contains(leaves, rest):
		return 0
	case slices.Contains(shared, rest):
		return 1
	case !p.exported() && top == "internal":
		return min(1, len(p.imports))
	case top == "chain", top == "catalog", top == "mount":
		return 3
	}
	return 2 // policies
}
