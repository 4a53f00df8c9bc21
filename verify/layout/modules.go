package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// prefix is the path of the root module. Those of other modules and of packages add their folder.
const prefix = "github.com/fairlead-go/fairlead"

type module struct {
	path      string
	version   string // of Go, as go.mod has it
	toolchain string // as go.mod has it, mostly none
	packages  []*pkg // by path
}

// A pkg is what a folder holds, with the tests, also those of package x_test.
type pkg struct {
	path  string // of import
	name  string // without _test
	files []*file
}

type file struct {
	name    string // from the root
	test    bool
	lines   int
	comment int      // lines that hold nothing but a comment
	imports []string // paths
	set     *token.FileSet
	syntax  *ast.File
}

// local returns a path without that of the root module: "." for the root itself.
func local(p string) string {
	return path.Join(".", strings.TrimPrefix(strings.TrimPrefix(p, prefix), "/"))
}

// hasInternal reports whether an import path is that of an internal package.
func hasInternal(p string) bool {
	return slices.Contains(strings.Split(p, "/"), "internal")
}

// public reports whether the package is one that users import.
func (p *pkg) public() bool {
	return p.name != "main" && !hasInternal(p.path)
}

// sources returns the files that are not tests.
func (p *pkg) sources() (files []*file) {
	for _, f := range p.files {
		if !f.test {
			files = append(files, f)
		}
	}
	return files
}

// read parses the repository. Modules are in the order of their paths, an inner one after the outer one; a folder
// belongs to the innermost.
func read(root string) (modules []*module, err error) {
	tree := os.DirFS(root)
	err = fs.WalkDir(tree, ".", func(folder string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil || !d.IsDir():
			return err
		case name == "testdata" || name == "node_modules" || name != "." && strings.HasPrefix(name, "."):
			return fs.SkipDir
		}
		p, err := readPackage(tree, folder)
		if err != nil {
			return err
		}
		if text, err := fs.ReadFile(tree, path.Join(folder, "go.mod")); err == nil {
			modules = append(modules, &module{
				path: p.path, version: directive(text, "go"), toolchain: directive(text, "toolchain"),
			})
		}
		if m := owner(modules, p.path); m != nil && len(p.files) > 0 {
			m.packages = append(m.packages, p)
		}
		return nil
	})
	return modules, err
}

// directive returns the argument of a line of a go.mod.
func directive(text []byte, name string) string {
	if m := regexp.MustCompile(`(?m)^` + name + `\s+(\S+)`).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// owner returns the innermost module that a path belongs to, or nil.
func owner(modules []*module, p string) (best *module) {
	for _, m := range modules {
		if strings.HasPrefix(p+"/", m.path+"/") && (best == nil || len(m.path) > len(best.path)) {
			best = m
		}
	}
	return best
}

func readPackage(tree fs.FS, folder string) (*pkg, error) {
	p := &pkg{path: path.Join(prefix, folder)}
	names, err := fs.Glob(tree, path.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		f := &file{
			name: name, test: strings.HasSuffix(name, "_test.go"), lines: bytes.Count(text, []byte("\n")), set: token.NewFileSet(),
		}
		if f.syntax, err = parser.ParseFile(f.set, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		f.comment = commentLines(f, text)
		for _, spec := range f.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			f.imports = append(f.imports, imported)
		}
		p.name = strings.TrimSuffix(f.syntax.Name.Name, "_test")
		p.files = append(p.files, f)
	}
	return p, nil
}

// commentLines counts the lines of a file that hold nothing but a comment.
func commentLines(f *file, text []byte) (lines int) {
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			from, to := f.set.Position(c.Pos()), f.set.Position(c.End())
			lines += to.Line - from.Line + 1
			if before := text[from.Offset-from.Column+1 : from.Offset]; len(bytes.TrimSpace(before)) > 0 {
				lines-- // it follows code
			}
		}
	}
	return lines
}
