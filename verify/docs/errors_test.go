package docs_test

import (
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
	"testing"
	"testing/fstest"
	"unicode"
)

// Every text on the page of errors is one that the code makes: a whole text, or all of it before the sentence or the
// part after a semicolon that names the next step.
func TestErrorTextsAreInTheCode(t *testing.T) {
	t.Parallel()
	code := readTexts(t, os.DirFS(root))
	if len(code.whole) < 1000 {
		t.Errorf("the code has %d texts, want at least 1,000", len(code.whole))
	}
	page := read(t, root, "docs/reference/errors.md")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(page, -1)
	if len(rows) < 60 {
		t.Errorf("the page has %d texts, want at least 60", len(rows))
	}
	_, forModels, _ := strings.Cut(page, "\n| the model reads | the host has |\n")
	pairs := regexp.MustCompile("(?m)^\\| `[^`]+` \\| `([^`]+)` \\|$").FindAllStringSubmatch(forModels, -1)
	if len(pairs) < 5 {
		t.Errorf("the page has %d texts beside those for models, want at least 5", len(pairs))
	}
	for _, row := range slices.Concat(rows, pairs) {
		if !code.has(row[1]) {
			t.Errorf("the code does not have the text %q", row[1])
		}
	}
}

func TestTextsAreComparedAsAWhole(t *testing.T) {
	t.Parallel()
	const source = `package x

		const next = "; try again"

		var (
			a = fmt.Sprintf("fairlead: the call of %s panicked at %d%%; the log has the stack", tool, n)
			b = "proxy: the server " + name + " was refused: " + why
			c = errors.New("nobody approved it" + next)
			d = r.fault("catalog: %w: %s", err, why)
			e = "dangerous"
			f = "the call of a tool"
		)
`
	code := readTexts(t, fstest.MapFS{
		"x/x.go":      {Data: []byte(source)},
		"x/x_test.go": {Data: []byte(`package x; var y = "the text of a test"`)},
	})
	for text, want := range map[string]bool{
		"fairlead: the call of … panicked at …%":                         true,
		"fairlead: the call of … panicked at …%; the log has the stack":  true,
		`fairlead: the call of "…" panicked at …%`:                       true,
		"proxy: the server … was refused: …":                             true,
		"proxy: the server … was refused: nobody approved it":            true,
		"proxy: the server … was refused: nobody approved it; try again": true,
		"middleware: the call of … panicked at …%":                       false, // another package
		"the call of … panicked at …%":                                   false, // not the beginning
		"fairlead: the call of … panicked":                               false, // not the end
		"fairlead: the call of panicked at …%":                           false, // a name is missing
		"fairlead: the call of … panicked at …%; the log":                false,
		"proxy: the server … was refused: nobody approved":               false, // a part of a text
		"proxy: the server … was refused: nobody approved it, dangerous": false, // pieces
		"proxy: the server … was refused: the call of a tool dangerous":  false,
		"catalog: the server … was refused: dangerous":                   false,
		"catalog: …: …":      false, // it is in no one's search
		"the text of a test": false,
	} {
		if got := code.has(text); got != want {
			t.Errorf("has(%q) = %t, want %t", text, got, want)
		}
	}
}

// A texts has the texts that code can make out of its literals. A gap (…) is what a verb or an expression fills in.
type texts struct {
	whole  map[string]bool
	begins map[string]bool // those before a next step
	gapped []string        // the texts of both that have a gap
}

const gap = "…"

const (
	// leastLetters is how many letters a text on the page has, so that it is found.
	leastLetters = 10
	// leastFrame is how many a text of the code has besides its gaps: the shortest is a package's name before what it wraps.
	leastFrame = 4
)

// wraps is the one frame without letters that a gap may hold: an error, and the one that it wraps.
const wraps = "…: …"

// has reports whether a text can be made: it is one of the code's whose gaps are left open, or hold other whole texts.
func (code *texts) has(text string) bool {
	text = normal(text)
	if letters(text) < leastLetters {
		return false
	}
	if code.whole[text] || code.begins[text] {
		return true
	}
	m := matcher{code, make(map[filler]bool)}
	return slices.ContainsFunc(code.gapped, func(t string) bool { return letters(t) >= leastFrame && m.fills(t, text, true, 2) })
}

// A matcher compares one text with templates.
type matcher struct {
	code *texts
	seen map[filler]bool
}

// A filler is what a gap may hold.
type filler struct {
	text  string
	last  bool // it ends the text, so that a beginning is enough
	depth int  // how many more templates may be in one another
}

// fills reports whether text is a template with each gap left open, or filled with whole texts.
func (m *matcher) fills(template, text string, last bool, depth int) bool {
	before, after, ok := strings.Cut(template, gap)
	rest, found := strings.CutPrefix(text, before)
	if !found || !ok {
		return found && rest == ""
	}
	if after == "" {
		return m.filler(filler{rest, last, depth})
	}
	next, _, _ := strings.Cut(after, gap)
	for at := 0; ; at++ { // wherever what follows the gap is
		n := strings.Index(rest[at:], next)
		if n < 0 {
			return false
		}
		if at += n; m.fills(after, rest[at:], last, depth) && m.filler(filler{rest[:at], false, depth}) {
			return true
		}
	}
}

func (m *matcher) filler(f filler) bool {
	switch {
	case f.text == gap:
		return true
	case letters(f.text) == 0:
		return false
	case m.code.whole[f.text] || f.last && m.code.begins[f.text]:
		return true
	case f.depth == 0:
		return false
	}
	is, ok := m.seen[f]
	if !ok {
		is = slices.ContainsFunc(m.code.gapped, func(t string) bool {
			return (f.last || m.code.whole[t]) && (letters(t) > 0 || t == wraps) && m.fills(t, f.text, f.last, f.depth-1)
		})
		m.seen[f] = is
	}
	return is
}

func letters(text string) (n int) {
	for _, r := range text {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

var (
	quotedGap = regexp.MustCompile(`"(…+)"`)
	gaps      = regexp.MustCompile(gap + `+`)
	verb      = regexp.MustCompile(`%[-+#0 ]*[0-9]*(?:\.[0-9]+)?[a-zA-Z]`)
	nextStep  = regexp.MustCompile(`; |\. `)
)

func normal(text string) string {
	return gaps.ReplaceAllString(quotedGap.ReplaceAllString(text, gap), gap)
}

// readTexts reads what is released, without tests and examples.
func readTexts(t *testing.T, tree fs.FS) *texts {
	t.Helper()
	code := &texts{whole: make(map[string]bool), begins: make(map[string]bool)}
	folders := make(map[string][]*ast.File)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"verify", "docs"}, name) || slices.Contains([]string{"testdata", "examples"}, d.Name())):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		folders[path.Dir(name)] = append(folders[path.Dir(name)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range folders {
		code.add(files)
	}
	for _, some := range []map[string]bool{code.whole, code.begins} {
		for text := range some {
			if strings.Contains(text, gap) {
				code.gapped = append(code.gapped, text)
			}
		}
	}
	return code
}

// add adds the texts of one package.
func (code *texts) add(files []*ast.File) {
	known := make(map[string]string) // string constants by name
	for _, file := range files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
				for _, spec := range d.Specs {
					for i, name := range spec.(*ast.ValueSpec).Names {
						if values := spec.(*ast.ValueSpec).Values; i < len(values) {
							if text, ok := template(values[i], known); ok {
								known[name.Name] = text
							}
						}
					}
				}
			}
		}
	}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			code.record(template(n, known))
		case *ast.BinaryExpr:
			if text, ok := template(n, known); ok {
				code.record(text, true)
				for _, call := range callsOf(n) { // a part of a joined text does not count, what a call is given may be
					ast.Inspect(call, visit)
				}
				return false
			}
		}
		return true
	}
	for _, file := range files {
		ast.Inspect(file, visit)
	}
}

func (code *texts) record(text string, ok bool) {
	if !ok {
		return
	}
	text = normal(text)
	code.whole[text] = true
	for _, at := range nextStep.FindAllStringIndex(text, -1) {
		code.begins[strings.TrimSuffix(text[:at[0]+1], ";")] = true // with its full stop
	}
}

// callsOf returns what is called in a sum, and given to the calls, without the text that Sprintf fills.
func callsOf(e ast.Expr) (nodes []ast.Expr) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return callsOf(e.X)
	case *ast.BinaryExpr:
		return append(callsOf(e.X), callsOf(e.Y)...)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			return e.Args[1:]
		}
		return append(e.Args, e.Fun)
	}
	return nil
}

// template returns the text of an expression of string literals, with a gap for each verb and each other part. It
// reports false if the expression has no literal.
func template(e ast.Expr, known map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return template(e.X, known)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if e.Kind != token.STRING || err != nil {
			return gap, false
		}
		return strings.ReplaceAll(verb.ReplaceAllString(text, gap), "%%", "%"), true
	case *ast.Ident:
		if text, ok := known[e.Name]; ok {
			return text, true
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			return template(e.Args[0], known)
		}
	case *ast.BinaryExpr:
		x, left := template(e.X, known)
		y, right := template(e.Y, known)
		if e.Op == token.ADD && (left || right) {
			return x + y, true
		}
	}
	return gap, false
}
