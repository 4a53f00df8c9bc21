package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"slices"
	"strings"
)

// longFunction is the number of lines that fit a screen.
const longFunction = 60

// A report is what the command prints.
type report struct {
	Faults    []string  `json:"faults"`
	Modules   []sizes   `json:"modules,omitempty"`
	Packages  []sizes   `json:"packages,omitempty"`
	All       *sizes    `json:"all,omitempty"`
	Files     []longOne `json:"files,omitempty"`
	Functions []longOne `json:"functions,omitempty"`
}

// sizes are those of a package, of a module or of all modules. Except Tests and Namesakes they leave tests out.
type sizes struct {
	Path      string  `json:"path"`
	Files     int     `json:"files"`
	Lines     int     `json:"lines"`
	Median    int     `json:"median"`        // lines of a file
	P90       int     `json:"p90"`           // nine of ten files have at most this many lines
	Longest   int     `json:"longest"`       // lines of the longest file
	Functions int     `json:"functions"`     // also methods
	Long      int     `json:"longFunctions"` // of more lines than longFunction
	Comments  float64 `json:"comments"`      // percentage of the lines
	Names     int     `json:"names"`         // exported at top level, each constant too; as the next two, of public packages
	Methods   int     `json:"methods"`       // exported, of exported types
	Fields    int     `json:"fields"`        // exported, of exported structs
	Tests     int     `json:"tests"`         // files
	Namesakes int     `json:"namesakes"`     // tests beside a source file of the same name
}

// A longOne is a file or a function.
type longOne struct {
	Place string `json:"place"` // a file, or file:line and name
	Lines int    `json:"lines"`
}

func (r *report) measure(modules []*module, show options) {
	var all []*pkg
	for _, m := range modules {
		for _, p := range m.packages {
			r.Packages = append(r.Packages, measure(p.path, p))
			for _, f := range p.files {
				if show.files > 0 && f.lines > show.files {
					r.Files = append(r.Files, longOne{Place: f.name, Lines: f.lines})
				}
			}
			for _, f := range p.sources() {
				for name, lines := range functions(f) {
					if lines > show.functions {
						r.Functions = append(r.Functions, longOne{Place: name, Lines: lines})
					}
				}
			}
		}
		r.Modules = append(r.Modules, measure(m.path, m.packages...))
		all = append(all, m.packages...)
	}
	total := measure("all", all...)
	r.All = &total
	for _, long := range [][]longOne{r.Files, r.Functions} {
		slices.SortFunc(long, func(a, b longOne) int { return cmp.Or(b.Lines-a.Lines, strings.Compare(a.Place, b.Place)) })
	}
}

func measure(name string, packages ...*pkg) sizes {
	s := sizes{Path: name}
	var lengths []int
	comments := 0
	for _, p := range packages {
		for _, f := range p.files {
			if f.test {
				s.Tests++
				if hasNamesake(p, f) {
					s.Namesakes++
				}
				continue
			}
			lengths = append(lengths, f.lines)
			s.Lines += f.lines
			comments += f.comment
			for _, lines := range functions(f) {
				s.Functions++
				if lines > longFunction {
					s.Long++
				}
			}
		}
		if p.public() {
			names, methods, fields := exported(p)
			s.Names, s.Methods, s.Fields = s.Names+names, s.Methods+methods, s.Fields+fields
		}
	}
	if s.Files = len(lengths); s.Files > 0 {
		slices.Sort(lengths)
		s.Median, s.P90, s.Longest = percentile(lengths, 50), percentile(lengths, 90), lengths[len(lengths)-1]
		s.Comments = 100 * float64(comments) / float64(max(1, s.Lines))
	}
	return s
}

// percentile returns the smallest of the sorted numbers that p percent of them do not exceed.
func percentile(sorted []int, p int) int {
	return sorted[(len(sorted)*p+99)/100-1]
}

// hasNamesake reports whether a test is beside a source file of the same name.
func hasNamesake(p *pkg, test *file) bool {
	source := strings.TrimSuffix(test.name, "_test.go") + ".go"
	return slices.ContainsFunc(p.files, func(f *file) bool { return f.name == source })
}

// functions returns the functions and methods of a file, by place and name, with their lines.
func functions(f *file) map[string]int {
	all := make(map[string]int)
	for _, d := range f.syntax.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			from := f.set.Position(d.Pos())
			all[fmt.Sprintf("%s:%d %s", f.name, from.Line, d.Name.Name)] = f.set.Position(d.End()).Line - from.Line + 1
		}
	}
	return all
}

// exported counts what a package exports. What is declared once for each system counts once.
func exported(p *pkg) (names, methods, fields int) {
	top, inside, data := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, f := range p.sources() {
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := receiver(d); of == "" && d.Name.IsExported() {
					top[d.Name.Name] = true
				} else if token.IsExported(of) && d.Name.IsExported() {
					inside[of+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					exportedSpec(spec, top, inside, data)
				}
			}
		}
	}
	return len(top), len(inside), len(data)
}

func exportedSpec(spec ast.Spec, top, methods, fields map[string]bool) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				top[name.Name] = true
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		top[spec.Name.Name] = true
		add := func(to map[string]bool, list *ast.FieldList) {
			for _, field := range list.List {
				for _, name := range field.Names { // none if it is embedded
					if name.IsExported() {
						to[spec.Name.Name+"."+name.Name] = true
					}
				}
			}
		}
		switch t := spec.Type.(type) {
		case *ast.StructType:
			add(fields, t.Fields)
		case *ast.InterfaceType:
			add(methods, t.Methods)
		}
	}
}

// receiver returns the name of the type that a method belongs to, or "".
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	for t := d.Recv.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func (r *report) print(out io.Writer) {
	if r.All != nil {
		fmt.Fprintln(out, "Files, functions and comments without tests; exported names, methods and fields of public packages.")
		for _, m := range r.Modules {
			heading(out, "module "+local(m.Path))
			for _, p := range r.Packages {
				if ownerPath(r.Modules, p.Path) == m.Path {
					row(out, "  "+local(p.Path), p)
				}
			}
			row(out, "all of "+local(m.Path), m)
		}
		heading(out, "")
		row(out, "all modules", *r.All)
	}
	list(out, "Functions, by lines:", r.Functions)
	list(out, "Files, by lines:", r.Files)
	for _, fault := range r.Faults {
		fmt.Fprintln(out, "FAULT:", fault)
	}
}

// ownerPath returns the path of the innermost module that a package belongs to.
func ownerPath(modules []sizes, p string) (best string) {
	for _, m := range modules {
		if strings.HasPrefix(p+"/", m.Path+"/") && len(m.Path) > len(best) {
			best = m.Path
		}
	}
	return best
}

func heading(out io.Writer, name string) {
	fmt.Fprintf(out, "\n%-34s %5s %6s %6s %4s %7s %5s %4s %8s %5s %7s %6s %5s %8s\n", name,
		"files", "lines", "median", "p90", "longest", "funcs", ">60", "comments", "names", "methods", "fields", "tests", "namesake")
}

func row(out io.Writer, name string, s sizes) {
	fmt.Fprintf(out, "%-34s %5d %6d %6d %4d %7d %5d %4d %6.1f %% %5d %7d %6d %5d %8d\n", name,
		s.Files, s.Lines, s.Median, s.P90, s.Longest, s.Functions, s.Long, s.Comments, s.Names, s.Methods, s.Fields, s.Tests, s.Namesakes)
}

func list(out io.Writer, title string, all []longOne) {
	if len(all) > 0 {
		fmt.Fprintf(out, "\n%s\n", title)
	}
	for _, one := range all {
		fmt.Fprintf(out, "%6d  %s\n", one.Lines, one.Place)
	}
}
