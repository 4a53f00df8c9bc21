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
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

// Limits.
const (
	mostNames     = 30
	mostLines     = 2500
	mostRootLines = 40_000
	mostLinesEver = 70_000
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
				fmt.Printf("  %-50s %7d %6d\n", strings.TrimPrefix(p.path, prefix+"/"), p.lines, p.names)
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
	if p.names > mostNames {
		faults = append(faults, fmt.Sprintf("%s exports %d names, more than %d", p.path, p.names, mostNames))
	}
	if _, excused := exceptions[p.path]; p.lines > mostLines && !excused {
		faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d", p.path, p.lines, mostLines))
	}
	return faults
}

// prefix is the path of the root module. Those of other modules and of packages add their folder.
const prefix = "github.com/fairlead-go/fairlead"

type module struct {
	path     string
	packages []*pkg // by path
}

type pkg struct {
	path  string
	name  string
	lines int // of files other than tests
	names int // exported, at top level
}

// exported reports whether the package is one for users.
func (p *pkg) exported() bool {
	return p.name != "main" && !slices.Contains(strings.Split(p.path, "/"), "internal")
}

// read returns the modules in order of their paths.
func read(root string) (modules []*module, err error) {
	tree := os.DirFS(root)
	err = fs.WalkDir(tree, ".", func(folder string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil || !d.IsDir():
			return err
		case name == "testdata" || name != "." && strings.HasPrefix(name, "."):
			return fs.SkipDir
		}
		p, err := readPackage(tree, folder)
		if err != nil {
			return err
		}
		if _, err := fs.Stat(tree, path.Join(folder, "go.mod")); err == nil {
			modules = append(modules, &module{path: p.path})
		}
		for _, m := range slices.Backward(modules) { // an inner module comes after the outer one
			if p.lines > 0 && strings.HasPrefix(p.path+"/", m.path+"/") {
				m.packages = append(m.packages, p)
				break
			}
		}
		return nil
	})
	return modules, err
}

func readPackage(tree fs.FS, folder string) (*pkg, error) {
	p := &pkg{path: path.Join(prefix, folder)}
	names, err := fs.Glob(tree, path.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.name = file.Name.Name
		p.lines += bytes.Count(text, []byte("\n"))
		files = append(files, file)
	}
	if len(files) == 0 {
		return p, nil
	}
	d, err := doc.NewFromFiles(set, files, p.path)
	if err != nil {
		return nil, err
	}
	exported := make(map[string]bool) // some are declared once for each system
	add := func(funcs []*doc.Func, values ...*doc.Value) {
		for _, f := range funcs {
			exported[f.Name] = true
		}
		for _, v := range values {
			for _, name := range v.Names {
				if token.IsExported(name) { // the others share a line with one that is
					exported[name] = true
				}
			}
		}
	}
	add(d.Funcs, slices.Concat(d.Consts, d.Vars)...)
	for _, t := range d.Types { // its constants count with it
		exported[t.Name] = true
		add(t.Funcs, t.Vars...)
	}
	p.names = len(exported)
	return p, nil
}
