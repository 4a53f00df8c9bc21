package shell_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/shell"
)

// commandLines returns the lines of a file of testdata.
func commandLines(tb testing.TB, name string) (lines []string) {
	tb.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			lines = append(lines, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return lines
}

func reads(text string) bool { return shell.Shell(text).Annotations.Safety() == annotation.Safe }

func TestCommandLinesThatAsk(t *testing.T) {
	t.Parallel()
	for _, text := range commandLines(t, "asks.txt") {
		if v := shell.Shell(text); v.Annotations.Safety() == annotation.Safe {
			t.Errorf("%q is called a read: %s", text, v.Why)
		} else if v.Why == "" || strings.Contains(v.Why, "\n") || len(v.Why) > 500 {
			t.Errorf("%q asks for the reason %q, which is not a short line", text, v.Why)
		}
	}
}

func TestCommandLinesThatRead(t *testing.T) {
	t.Parallel()
	for _, text := range commandLines(t, "reads.txt") {
		if v := shell.Shell(text); v.Annotations.Safety() != annotation.Safe {
			t.Errorf("%q asks: %s", text, v.Why)
		}
	}
}

// What is safe in any shell is safe in a shell that is known.
func TestAnyShellIsStricter(t *testing.T) {
	t.Parallel()
	for _, text := range append(commandLines(t, "asks.txt"), commandLines(t, "reads.txt")...) {
		if shell.AnyShell(text).Annotations.Safety() == annotation.Safe && !reads(text) {
			t.Errorf("%q is a read in any shell, and not in a known one", text)
		}
	}
}

// Nothing grows without a bound: neither time nor depth.
func TestLongAndDeepText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"functions that call functions": "a(){ ls;}\n" + strings.Repeat("b(){ a;a;a;a;}\n", 50) + "b",
		"braces":                        "echo " + strings.Repeat("{a,b,c,d}", 200),
		"substitutions":                 strings.Repeat("$(echo ", 900) + strings.Repeat(")", 900),
		"subshells":                     strings.Repeat("(", 2000) + "ls" + strings.Repeat(")", 2000),
		"scripts in scripts":            strings.Repeat("sh -c ", 500) + "ls",
		"conditions":                    strings.Repeat("if true; then ", 500) + "ls" + strings.Repeat("; fi", 500),
		"assignments":                   strings.Repeat("x=$x$x;", 1500) + "echo $x",
		"many commands":                 strings.Repeat("ls;", 5000),
		"env of env":                    strings.Repeat("env ", 3000) + "ls",
		"expressions":                   "echo $((" + strings.Repeat("1+", 3000) + "1))",
	} {
		if len(text) > 16<<10 {
			text = text[:16<<10]
		}
		if v := shell.Shell(text); v.Why == "" {
			t.Errorf("%s: no reason", name)
		}
	}
}

func FuzzShell(f *testing.F) {
	for _, text := range commandLines(f, "asks.txt") {
		f.Add(text)
	}
	for _, text := range commandLines(f, "reads.txt") {
		f.Add(text)
	}
	in := bounded(f)
	for line := range strings.Lines(byRoots) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			f.Add(strings.TrimSpace(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := shell.Shell(text)
		if v.Why == "" || len(v.Why) > 500 {
			t.Errorf("%q: the reason is not a short line: %q", text, v.Why)
		}
		shell.AnyShell(text)
		if shell.In(text, in).Annotations.Safety() == annotation.Safe && v.Annotations.Safety() != annotation.Safe {
			t.Errorf("%q is a read with roots only", text)
		}
		shell.AnyIn(text, in)
		if v.Annotations.Safety() != annotation.Safe {
			return
		}
		for _, worse := range []string{text + "\nrm x", "rm x; " + text, text + "\nls > x", "LD_PRELOAD=x; " + text} {
			if reads(worse) {
				t.Errorf("%q is called a read, since %q is one", worse, text)
			}
		}
	})
}

func BenchmarkShell(b *testing.B) {
	dense := strings.Repeat("grep -n x main.go;", 60)
	for name, text := range map[string]string{
		"one":                "git log --oneline -5 | grep fix",
		"as many as is read": dense,
		"one command more":   strings.Repeat("grep -n x main.go;", 900),
		"many words":         "ls " + strings.Repeat("a ", 1000),
	} {
		shell.Shell(text) // reads the tables
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				shell.Shell(text)
			}
		})
	}
}

// A text of many commands asks before it is parsed, unless the signs may be those of a here-document.
func TestManyCommandsAsk(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		strings.Repeat("ls;", 60):                                       true,
		strings.Repeat("ls;", 100):                                      false,
		strings.Repeat("ls\n", 100):                                     false,
		"cat <<'EOF'\n" + strings.Repeat("a; b | c & d\n", 100) + "EOF": true,
		"cat <<'EOF'\nEOF\n" + strings.Repeat("ls;", 200):               false,
		"cat <<'EOF'\nEOF\n" + strings.Repeat("ls;", 100):               true,
		"ls " + strings.Repeat("a ", 2000):                              false,
	} {
		if got := reads(text); got != want {
			t.Errorf("%.30q… is a read: %v, want %v", text, got, want)
		}
	}
}
