// Command layout prints the size of every package of the repository, and exits with 1 if a
// package or a module is too large.
//
//	go -C verify run ./layout            # every package
//	go -C verify run ./layout -faults    # only the faults, and the totals
//
// A row has the package's lines (of .go files other than tests) and its exported top-level names (the values of
// an enumeration count with their type). The rules for imports are in .golangci.yml.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
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
	"strings"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

// Limits. The goals are 36,000 lines for the root module and 61,000 for all.
const (
	mostNames     = 25
	mostLines     = 1500
	mostRootLines = 37_384
	mostLinesEver = 64_403
)

// exceptions have more lines than mostLines, each for its reason.
var exceptions = map[string]string{
	prefix + "/infer": "its lexicon is a table of words",
}

func main() {
	brief := flag.Bool("faults", false, "print only what is wrong, and the totals")
	flag.Parse()
	faults, err := run(*brief)
	if err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
		os.Exit(1)
	}
	for _, fault := range faults {
		fmt.Println("FAULT:", fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

func run(brief bool) (faults []string, err error) {
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	modules, err := read(root)
	if err != nil {
		return nil, err
	}
	all := 0
	for _, m := range modules {
		if !brief {
			fmt.Printf("\n%-52s %7s %6s\n", m.path, "lines", "names")
		}
		lines := 0
		for _, p := range m.packages {
			lines += p.lines
			if !brief {
				fmt.Printf("  %-50s %7d %6d\n", strings.TrimPrefix(p.path, prefix+"/"), p.lines, len(p.names))
			}
			faults = append(faults, p.faults(m)...)
		}
		fmt.Printf("%-52s %7d\n", "total of "+path.Join(".", strings.TrimPrefix(m.path, prefix)), lines)
		if all += lines; m.path == prefix && lines > mostRootLines {
			faults = append(faults, fmt.Sprintf("the root module has %d lines, more than %d", lines, mostRootLines))
		}
	}
	fmt.Printf("%-52s %7d\n", "total", all)
	if all > mostLinesEver {
		faults = append(faults, fmt.Sprintf("all modules have %d lines, more than %d", all, mostLinesEver))
	}
	return faults, nil
}

func (p *pkg) faults(m *module) (faults []string) {
	if m.path != prefix || !p.exported() {
		return faults
	}
	if n := len(p.names); n > mostNames {
		faults = append(faults, fmt.Sprintf("%s exports %d names, more than %d", p.path, n, mostNames))
	}
	if _, excused := exceptions[p.path]; p.lines > mostLines && !excused {
		faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d", p.path, p.lines, mostLines))
	}
	return faults
}

// prefix is the path of the root module, and that of the others begins with it.
const prefix = "github.com/fairlead-go/fairlead"

type module struct {
	path, dir string // dir is from the root of the repository, with slashes
	packages  []*pkg // by path
}

type pkg struct {
	path  string
	name  string
	lines int             // of files other than tests
	names map[string]bool // exported, at top level
}

// exported reports whether the package is one for users.
func (p *pkg) exported() bool {
	return p.name != "main" && !slices.Contains(strings.Split(p.path, "/"), "internal")
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

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
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(modules, func(a, b *module) int { return cmp.Compare(a.path, b.path) })
	for _, file := range files {
		m := moduleOf(modules, file)
		if m == nil {
			return nil, errors.New(file + " is in no module")
		}
		text, err := fs.ReadFile(tree, file)
		if err == nil {
			err = m.add(file, text)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, m := range modules {
		slices.SortFunc(m.packages, func(a, b *pkg) int { return cmp.Compare(a.path, b.path) })
	}
	return modules, nil
}

// moduleOf returns the innermost of the modules that have a file, nil for none.
func moduleOf(modules []*module, file string) (innermost *module) {
	for _, m := range modules {
		holds := m.dir == "." || strings.HasPrefix(file, m.dir+"/")
		if holds && (innermost == nil || len(m.dir) > len(innermost.dir) || innermost.dir == ".") {
			innermost = m
		}
	}
	return innermost
}

func (m *module) add(file string, text []byte) error {
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
	p := m.packages[at]
	p.name = parsed.Name.Name
	p.lines += bytes.Count(text, []byte("\n"))
	for _, d := range parsed.Decls {
		p.declares(d)
	}
	return nil
}

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
