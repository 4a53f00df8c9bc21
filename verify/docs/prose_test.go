package docs_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// habits are turns of phrase that the standard library hardly has.
var habits = map[string]*regexp.Regexp{
	"people for code": regexp.MustCompile(`(?i)\b(whoever|nobody|somebody|anybody)\b`), // "who" is right for a person, and persons approve
	"code that talks": regexp.MustCompile(`(?i)\b(says|said|tells|told|hears|knows|believes|believed)\b`),
	"stands":          regexp.MustCompile(`(?i)\b(stands|stood)\b`),
	"is no X":         regexp.MustCompile(`(?i)\b(is|are|was|were|be) (no|none)\b`),
	"what-subject":    regexp.MustCompile(`^(What|Whatever) \w+ `),
	"of which":        regexp.MustCompile(`(?i)\b(of|by|in|with) which\b`),
	"coined words":    regexp.MustCompile(`(?i)\b(kinder|sterner|tame|plea|a yes|a no)\b`),
}

// TestProseIsPlain compares comments and pages with the comments of three packages of the standard library: no habit is
// more than twice as frequent as in the one that has most of it, or than one sentence in two hundred.
func TestProseIsPlain(t *testing.T) {
	t.Parallel()
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	most := make(map[string]float64)
	for _, p := range []string{"log/slog", "net/http", "encoding/json"} {
		for habit, share := range shares(sentences(t, filepath.Join(strings.TrimSpace(string(goroot)), "src", p))) {
			most[habit] = max(most[habit], share)
		}
	}
	ours := sentences(t, root)
	for habit, share := range shares(ours) {
		limit := max(2*most[habit], 0.005)
		t.Logf("%-16s %.2f %% (at most %.2f %%)", habit, 100*share, 100*limit)
		if share > limit {
			t.Errorf("%q: %.2f %% of %d sentences, want at most %.2f %%", habit, 100*share, len(ours), 100*limit)
		}
	}
	if len(ours) < 5000 {
		t.Errorf("there are %d sentences, want at least 5,000", len(ours))
	}
}

func shares(all []string) map[string]float64 {
	m := make(map[string]float64)
	for habit, is := range habits {
		n := 0
		for _, s := range all {
			if is.MatchString(s) {
				n++
			}
		}
		m[habit] = float64(n) / float64(max(1, len(all)))
	}
	return m
}

var (
	ends = regexp.MustCompile(`[.!?:;](\s+|$)|\n\s*\n`)
	code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\\|")
)

// sentences are those of the comments of Go files, without tests, and of Markdown pages.
func sentences(t *testing.T, dir string) (all []string) {
	t.Helper()
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git" || e.Name() == "internal" && strings.HasSuffix(dir, "net/http")):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"), strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
		default:
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		prose := code.ReplaceAllString(string(text), " X ")
		if strings.HasSuffix(name, ".go") {
			prose = comments(text)
		}
		for _, s := range ends.Split(prose, -1) {
			if s = strings.Join(strings.Fields(s), " "); strings.Count(s, " ") >= 3 {
				all = append(all, s)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// comments returns the comments of a Go file, a blank line after each group.
func comments(text []byte) string {
	var out strings.Builder
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, scanner.ScanComments)
	for {
		switch _, kind, c := s.Scan(); {
		case kind == token.EOF:
			return out.String()
		case kind != token.COMMENT:
			out.WriteString("\n\n")
		case !strings.HasPrefix(c, "//go:") && !strings.HasPrefix(c, "//nolint"):
			out.WriteString(strings.TrimPrefix(c, "//") + "\n")
		}
	}
}

// TestTextsNameWhatIsWanted holds the rule of CONTRIBUTING.md about texts: "want a string" instead of "is no string",
// and one spelling of catalog. Tests may break the first, since they quote what others write.
func TestTextsNameWhatIsWanted(t *testing.T) {
	t.Parallel()
	tree, files := os.DirFS(root), 0
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git" || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md") || name == "verify/docs/prose_test.go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		files++
		for _, found := range unwanted(name, text) {
			t.Error(found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 1000 {
		t.Errorf("%d files were read, want at least 1,000", files)
	}
}

func TestUnwantedTextsAreFound(t *testing.T) {
	t.Parallel()
	const source = "package x\n\n" +
		"// A Catalogue is the name of a type in another module.\n" +
		"var a = errors.New(\"x: it is none\")\n" +
		"var b = `x: these\nare no lists`\n" +
		"// It returns nil if there is none, and what is no longer there.\n" +
		"var c = errors.New(\"x: there is no tool\") // what is no tool\n"
	for name, want := range map[string][]string{
		"x.go": {
			`x.go:3: "Catalogue": write catalog`,
			`x.go:4: "is none": name what is wanted ("want a list"), or write "is not a list"`,
			`x.go:6: "are no lists": name what is wanted ("want a list"), or write "is not a list"`,
			`x.go:8: "is no tool": name what is wanted ("want a list"), or write "is not a list"`,
		},
		"x_test.go": {`x_test.go:3: "Catalogue": write catalog`},
	} {
		if got := unwanted(name, []byte(source)); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := unwanted("x.md", []byte("# A page\n\nThe text\nis no list. There is no other.\n")); !slices.Equal(got, []string{
		`x.md:4: "is no list": name what is wanted ("want a list"), or write "is not a list"`,
	}) {
		t.Errorf("got %q of a page", got)
	}
}

var (
	otherSpelling = regexp.MustCompile(`(?i)catalogues?`)
	isNo          = regexp.MustCompile(`(?i)(\bthere\s+)?\b(is|are|was|were)\s+(no\s+([a-z]+)|none)\b`)
	// comparison has the words before which "no" is right without "there".
	comparison = []string{"longer", "more", "less", "fewer"}
)

// unwanted returns the places where a page, or the literals and comments of a Go file, break a rule.
func unwanted(name string, text []byte) (all []string) {
	look := func(line int, text string) {
		add := func(at []int, rule string) {
			phrase := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
			all = append(all, fmt.Sprintf("%s:%d: %q: %s", name, line+strings.Count(text[:at[0]], "\n"), phrase, rule))
		}
		for _, at := range otherSpelling.FindAllStringIndex(text, -1) {
			add(at, "write catalog")
		}
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, at := range isNo.FindAllStringSubmatchIndex(text, -1) {
			if at[2] < 0 && (at[8] < 0 || !slices.Contains(comparison, text[at[8]:at[9]])) {
				add(at, `name what is wanted ("want a list"), or write "is not a list"`)
			}
		}
	}
	if strings.HasSuffix(name, ".md") {
		look(1, string(text))
		return all
	}
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		switch pos, kind, literal := s.Scan(); kind {
		case token.EOF:
			return all
		case token.STRING, token.COMMENT:
			look(file.Line(pos), literal)
		}
	}
}
