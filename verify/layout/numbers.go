package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// numberFaults reports where JSON is decoded into a type that has room for any value, by a decoder that turns its numbers
// into a float64. 9007199254740993 is 9007199254740992 from then on, and 1.10 is 1.1: an approval, a record or an answer
// has another number than the one that was sent. internal/jsontree keeps the digits. Tests, and verify itself, may round.
func numberFaults(root string, modules []*module) (faults []string, err error) {
	used := make(map[string]bool)
	for _, m := range modules {
		if local(m.path) == "verify" { // it is never released
			continue
		}
		loaded, err := packages.Load(loading(filepath.Join(root, local(m.path))), "./...")
		if err != nil {
			return nil, fmt.Errorf("numbers: %s: %w", m.path, err)
		}
		for _, p := range loaded {
			for _, e := range p.Errors {
				return nil, fmt.Errorf("numbers: %s: %w", p.PkgPath, e)
			}
			for _, at := range roundings(p) {
				if key := at.place(); rounds[key] != "" {
					used[key] = true
					continue
				}
				faults = append(faults, fmt.Sprintf("numbers: %s: %s decodes JSON into %s, which rounds its numbers; use internal/jsontree, UseNumber or json.RawMessage, or give the reason in verify/layout/numbers.go", at.position(root), at.function, at.into))
			}
		}
	}
	for key := range rounds {
		if !used[key] {
			faults = append(faults, "numbers: "+key+" rounds no number any more; delete it from verify/layout/numbers.go")
		}
	}
	slices.Sort(faults)
	return faults, nil
}

// loading is how the packages of a module are read: with the types of their expressions.
func loading(dir string) *packages.Config {
	return &packages.Config{
		Dir:  dir,
		Mode: packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile,
	}
}

// A rounding is a call that decodes JSON and may round a number.
type rounding struct {
	pkg, function, into string
	at                  token.Position
}

func (r rounding) place() string {
	return strings.TrimPrefix(r.pkg, prefix+"/") + "." + r.function
}

func (r rounding) position(root string) string {
	if name, err := filepath.Rel(root, r.at.Filename); err == nil {
		return fmt.Sprintf("%s:%d", name, r.at.Line)
	}
	return r.at.String()
}

// roundings returns the calls in a package that decode into a type with room for any value.
func roundings(p *packages.Package) (all []rounding) {
	for _, file := range p.Syntax {
		for _, decl := range file.Decls {
			name := "var"
			if f, ok := decl.(*ast.FuncDecl); ok {
				name = f.Name.Name
			}
			exact := exactDecoders(p.TypesInfo, decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				target := decoded(p.TypesInfo, call, exact)
				if target == nil {
					return true
				}
				if t := p.TypesInfo.TypeOf(target); holdsAny(t, make(map[types.Type]bool)) {
					all = append(all, rounding{p.PkgPath, name, types.TypeString(t, nil), p.Fset.Position(call.Pos())})
				}
				return true
			})
		}
	}
	return all
}

// decoded returns what a call decodes JSON into, nil for another call and for a decoder that keeps the digits.
func decoded(info *types.Info, call *ast.CallExpr, exact map[types.Object]bool) ast.Expr {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	f, ok := info.Uses[selector.Sel].(*types.Func)
	if !ok {
		return nil
	}
	switch f.FullName() {
	case "encoding/json.Unmarshal":
		return call.Args[1]
	case "(*encoding/json.Decoder).Decode":
		if of, ok := selector.X.(*ast.Ident); ok && exact[info.Uses[of]] {
			return nil
		}
		return call.Args[0]
	}
	return nil
}

// exactDecoders returns the decoders in a declaration that keep the digits.
func exactDecoders(info *types.Info, decl ast.Decl) map[types.Object]bool {
	exact := make(map[types.Object]bool)
	ast.Inspect(decl, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && selector.Sel.Name == "UseNumber" {
			if of, ok := selector.X.(*ast.Ident); ok {
				exact[info.Uses[of]] = true
			}
		}
		return true
	})
	return exact
}

// holdsAny reports whether a type has room for any JSON value: an interface, alone or within a list, a map or a member. A
// type of this repository with UnmarshalJSON reads itself, by a call that is looked at where it is.
func holdsAny(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if named, ok := types.Unalias(t).(*types.Named); ok && readsItself(named) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return u.NumMethods() == 0
	case *types.Pointer:
		return holdsAny(u.Elem(), seen)
	case *types.Slice:
		return holdsAny(u.Elem(), seen)
	case *types.Array:
		return holdsAny(u.Elem(), seen)
	case *types.Map:
		return holdsAny(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if f := u.Field(i); f.Exported() && !strings.Contains(u.Tag(i), `json:"-"`) && holdsAny(f.Type(), seen) {
				return true
			}
		}
	}
	return false
}

func readsItself(t *types.Named) bool {
	pkg := t.Obj().Pkg()
	if pkg == nil || !strings.HasPrefix(pkg.Path(), prefix) {
		return false
	}
	method, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, pkg, "UnmarshalJSON")
	return method != nil
}

// rounds are the functions that may round a number, each with the reason why no number is lost by it.
var rounds = map[string]string{
	"annotation.decodeConditions":     "a value is a text or a boolean, which is checked",
	"annotation.of":                   "it is compared with texts and booleans alone",
	"catalog/counterpart.returned":    "its type alone counts; the bytes are handed on",
	"catalog/gofunc.decode":           "the validator takes numbers as float64; the func gets the digits",
	"catalog/known.add":               "a value of a condition is a text or a boolean",
	"catalog/known/strip.run":         "a value of a condition is a text or a boolean",
	"catalog/mount/serve.answer":      "the validator takes numbers as float64; the host's func gets the bytes",
	"catalog/mount/serve.prepare":     "a schema by which arguments are checked, and which is not handed on",
	"catalog/mount/serve.asked":       "a text of our own without numbers",
	"catalog/pins.decode":             "into texts, and members that are raw",
	"catalog/pins.decisionOf":         "a value of a condition is a text or a boolean",
	"cmd/fairlead/command.savedTools": "definitions, which get their digits back at once",
	"cmd/fairlead/command.parse":      "a name, of which the type counts",
	"cmd/fairlead/policy.literal":     "into texts and booleans",
	"cmd/fairlead/proxy.SendCall":     "a text of our own without numbers",
	"cmd/fairlead/proxy.unquote":      "into a text",
	"cmd/fairlead/proxy.readResult":   "structured content and _meta are read again with their digits",
	"cmd/fairlead/proxy.var":          "a text of our own without numbers",
	"cmd/fairlead/proxy.ListTools":    "definitions, which get their digits back when they are kept; a client gets the bytes",
	"cmd/fairlead/report.hidden":      "texts alone are looked at",
	"contrib/anthropic.written":       "the text is used in place of what is decoded",
	"internal/jsontree.Into":          "it is the helper",
	"contrib/eino.convert":            "Eino's schema reads itself; a constant past 2^53 in a schema loses digits",
	"contrib/mcpgo.converted":         "definitions, which mcp-go has rounded by then, and results whose structured content is kept as bytes on both sides",
	"examples/agent.showCall":         "a line on the screen beside the question, which has the bytes",
	"examples/agent.result":           "into types of the example without numbers of any kind",
	"fairleadtest/replaytest.listed":  "schemas, by which secrets are found",
	"fairleadtest/replaytest.reads":   "definitions whose class counts",
	"hitl/elicit.formFault":           "the words and types of a form are looked at",
	"hitl/inbox.readSheet":            "the arguments are bytes; what is shown otherwise is refused by its digest",
	"internal/rawlist.is":             "the type alone counts",
	"internal/resolution.member":      "into texts and lists of raw members",
	"internal/resultcopy.Decode":      "Encode refuses a result that is not read as it is; structured content is bytes",
	"internal/schema.ReadContract":    "a schema by which results are checked",
	"internal/schema.compile":         "a schema by which results are checked",
	"internal/schema.Check":           "the validator takes numbers as float64; multiples are counted with the digits",
	"internal/schema.Decoded":         "a schema in which names and types are looked up",
	"preflight.met":                   "it is compared with texts and booleans alone",
}
