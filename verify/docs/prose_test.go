package docs_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
