package main

// Building a test binary costs seconds, and running a mutant milliseconds. So all mutants go
// into one binary: a function that has mutants begins with their bodies, each behind a test
// of a variable that the environment sets.
//
//	func (g *Grant) Consume(...) error {
//		if activeMutant == "spend-is-not-atomic" {
//			... the whole body, with the line changed ...
//		}
//		... the body as it is ...
//	}
//
// A copy of the body can hold any change inside of it. A mutant outside of a function body, such
// as one of a constant, is "alone": it gets a binary of its own.

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// environment names the mutant that a woven binary is to be.
const environment = "FAIRLEAD_MUTANT"

// woven are the sources that hold many mutants.
type woven struct {
	files map[string][]byte // by path from the project's root
	alone []*placed         // that cannot be switched on
}

// weave puts the mutants into their files.
func weave(mutants []*placed) (*woven, error) {
	w := &woven{files: make(map[string][]byte)}
	byFile := make(map[string][]*placed)
	for _, p := range mutants {
		byFile[p.file] = append(byFile[p.file], p)
	}
	for file, here := range byFile {
		original := here[0].original
		var bodies []body
		for _, p := range here {
			b, ok, err := bodyOf(p)
			switch {
			case err != nil:
				return nil, err
			case !ok:
				w.alone = append(w.alone, p)
			default:
				bodies = append(bodies, b)
			}
		}
		if len(bodies) == 0 {
			continue
		}
		slices.SortStableFunc(bodies, func(a, b body) int { return cmp.Compare(a.at, b.at) })
		var out bytes.Buffer
		last := 0
		for _, b := range bodies {
			out.Write(original[last:b.at])
			last = b.at
			out.WriteString(b.text)
			fmt.Fprintf(&out, "\n//line %s:%d\n", path.Base(file), 1+bytes.Count(original[:b.at], []byte("\n")))
		}
		out.Write(original[last:])
		w.files[file] = out.Bytes()
		w.files[path.Join(path.Dir(file), "active_mutant.go")] = fmt.Appendf(nil,
			"package %s\n\nimport \"os\"\n\nvar activeMutant = os.Getenv(%q)\n", bodies[0].pkg, environment)
	}
	slices.SortFunc(w.alone, func(a, b *placed) int { return strings.Compare(a.name, b.name) })
	return w, nil
}

// A body is what is put behind the opening brace of a function.
type body struct {
	pkg  string
	at   int // behind the brace, in the original
	text string
}

// bodyOf returns the changed body of the function that a mutant is in. It is false if the change is not
// inside of one function's body.
func bodyOf(p *placed) (b body, ok bool, err error) {
	changed := p.source()
	set := token.NewFileSet()
	before, err := parser.ParseFile(set, p.file, p.original, parser.SkipObjectResolution)
	if err != nil {
		return body{}, false, err
	}
	after, err := parser.ParseFile(set, p.name+".go", changed, parser.SkipObjectResolution)
	if err != nil {
		return body{}, false, fmt.Errorf("mutant %s is not Go: %w", p.name, err)
	}
	offset := func(pos token.Pos) int { return set.PositionFor(pos, false).Offset }
	for i, decl := range before.Decls {
		f, isFunc := decl.(*ast.FuncDecl)
		if !isFunc || f.Body == nil || p.start < offset(f.Pos()) || p.stop > offset(f.End()) {
			continue
		}
		if i >= len(after.Decls) {
			return body{}, false, nil
		}
		g, isFunc := after.Decls[i].(*ast.FuncDecl)
		if !isFunc || g.Body == nil {
			return body{}, false, nil
		}
		signature := p.original[offset(f.Pos()):offset(f.Body.Lbrace)]
		if !bytes.Equal(signature, changed[offset(g.Pos()):offset(g.Body.Lbrace)]) {
			return body{}, false, nil
		}
		if redeclares(g) {
			return body{}, false, nil
		}
		from := offset(g.Body.Lbrace) + 1
		text := withLabels(g.Body, changed[from:offset(g.Body.Rbrace)], p.name, func(pos token.Pos) int { return offset(pos) - from })
		line := 1 + bytes.Count(changed[:from], []byte("\n"))
		text = fmt.Sprintf("\nif activeMutant == %q {\n//line %s.go:%d\n%s\n", p.name, p.name, line, text)
		if results := f.Type.Results; results == nil || len(results.List[0].Names) > 0 {
			text += "return\n" // the end of the body may be reached
		}
		return body{before.Name.Name, offset(f.Body.Lbrace) + 1, text + "}\n"}, true, nil
	}
	return body{}, false, nil
}

// redeclares reports whether := in the outermost block of a function names a parameter or result. There it assigns;
// in a block further in, where the body of a mutant is, it would declare a second variable.
func redeclares(f *ast.FuncDecl) bool {
	declared := make(map[string]bool)
	for _, fields := range []*ast.FieldList{f.Recv, f.Type.Params, f.Type.Results} {
		if fields == nil {
			continue
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				declared[name.Name] = name.Name != "_"
			}
		}
	}
	for _, statement := range f.Body.List {
		assign, ok := statement.(*ast.AssignStmt)
		if !ok || assign.Tok != token.DEFINE {
			continue
		}
		for _, left := range assign.Lhs {
			if name, ok := left.(*ast.Ident); ok && declared[name.Name] {
				return true
			}
		}
	}
	return false
}

// withLabels returns the text of a body with its labels renamed, since a function cannot have one twice.
func withLabels(in *ast.BlockStmt, text []byte, mutant string, offset func(token.Pos) int) string {
	var ends []int
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.LabeledStmt:
			ends = append(ends, offset(n.Label.End()))
		case *ast.BranchStmt:
			if n.Label != nil {
				ends = append(ends, offset(n.Label.End()))
			}
		}
		return true
	})
	slices.Sort(ends)
	for _, end := range slices.Backward(ends) {
		text = slices.Concat(text[:end], []byte("_"+strings.ReplaceAll(mutant, "-", "_")), text[end:])
	}
	return string(text)
}
