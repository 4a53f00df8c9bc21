package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// apiFaults returns where a public package exports something that is made of an internal package: go doc shows nobody
// outside what can be done with it. These are types that are an alias of an internal one or embed one, also by way of
// types of the package that are not exported, and fields, variables and functions that name one.
func apiFaults(modules []*module) (faults []string) {
	for _, m := range modules {
		for _, p := range m.packages {
			if p.public() && local(m.path) != "verify" {
				faults = append(faults, newAPI(p).faults()...)
			}
		}
	}
	return faults
}

// An api is what a package declares.
type api struct {
	pkg   *pkg
	types map[string]*declared
}

type declared struct {
	file *file
	spec *ast.TypeSpec
	open bool // it is being looked at, since types refer to each other
}

func newAPI(p *pkg) *api {
	a := &api{pkg: p, types: make(map[string]*declared)}
	for _, f := range p.sources() {
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						a.types[spec.Name.Name] = &declared{file: f, spec: spec}
					}
				}
			}
		}
	}
	return a
}

func (a *api) faults() (faults []string) {
	fault := func(f *file, n ast.Node, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s:%d: ", f.name, f.set.Position(n.Pos()).Line)+fmt.Sprintf(format, args...))
	}
	for _, f := range a.pkg.sources() {
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := receiver(d); d.Name.IsExported() && (of == "" || ast.IsExported(of)) {
					if t := a.internalIn(f, d.Type); t != "" {
						fault(f, d, "%s names %s, which is internal", strings.TrimPrefix(of+"."+d.Name.Name, "."), t)
					}
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						if t := a.value(f, spec); t != "" {
							fault(f, spec, "%s is made of %s, which is internal", spec.Names[0].Name, t)
						}
					case *ast.TypeSpec:
						if t := a.internalIn(f, spec.Type); spec.Name.IsExported() && t != "" {
							fault(f, spec, "%s is made of %s, which is internal", spec.Name.Name, t)
						}
					}
				}
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// value returns the internal name that an exported variable or constant is made of, or "". An error to test for
// (Err…) has no methods that go doc would have to show, and what a call returns has a type of its own.
func (a *api) value(f *file, spec *ast.ValueSpec) string {
	shown := func(name *ast.Ident) bool { return name.IsExported() && !strings.HasPrefix(name.Name, "Err") }
	if !slices.ContainsFunc(spec.Names, shown) {
		return ""
	}
	if spec.Type != nil {
		return a.internalIn(f, spec.Type)
	}
	for _, v := range spec.Values {
		if _, call := v.(*ast.CallExpr); !call {
			if name := a.internalIn(f, v); name != "" {
				return name
			}
		}
	}
	return ""
}

// internalIn returns the first internal name in what go doc shows of an expression: exported fields and methods, what is
// embedded, and the types of parameters and results. It returns "" if there is none.
func (a *api) internalIn(f *file, e ast.Node) (found string) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			if n != e { // of a method of an interface, whose parameters have names of their own
				found = cmp.Or(found, a.internalIn(f, n))
				return false
			}
		case *ast.Field:
			hidden := len(n.Names) > 0 && !slices.ContainsFunc(n.Names, func(name *ast.Ident) bool { return name.IsExported() })
			if _, inFunc := e.(*ast.FuncType); hidden && !inFunc {
				return false
			}
			if len(n.Names) == 0 && found == "" {
				found = a.embedded(n.Type)
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && found == "" && hasInternal(imported(f, x.Name)) {
				found = x.Name + "." + n.Sel.Name
			}
			return false
		}
		return found == ""
	})
	return found
}

// embedded returns the internal type that a type of this package, which is embedded and not exported, is made of.
func (a *api) embedded(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	id, ok := e.(*ast.Ident)
	if !ok || id.IsExported() {
		return "" // an exported one has its own row
	}
	d := a.types[id.Name]
	if d == nil || d.open {
		return ""
	}
	d.open = true
	defer func() { d.open = false }()
	return a.internalIn(d.file, d.spec.Type)
}

// imported returns the path that a file imports by a name, or "".
func imported(f *file, name string) string {
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return ""
		}
		if spec.Name == nil && path.Base(p) == name || spec.Name != nil && spec.Name.Name == name {
			return p
		}
	}
	return ""
}
