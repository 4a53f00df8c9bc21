package shellread_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight/probe"
)

// ownLines are command lines for programs that most machines have. Those whose program is missing are left out.
const ownLines = "../../internal/shell/testdata/reads.txt"

// TestReadsChangeNothing runs each command line that is called a read under bubblewrap: the file system is read-only, there
// is no network, and one folder with a few files and a repository can be written. The folder must be the same afterwards,
// and no program may have tried to write elsewhere.
func TestReadsChangeNothing(t *testing.T) {
	t.Parallel()
	if why := noSandbox(t); why != "" {
		t.Skipf("SKIPPED: bubblewrap does not work here, so no command is run: %s", why)
	}
	raw, err := os.ReadFile(ownLines)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			lines = append(lines, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	if ran := runAll(t, lines); ran < 50 {
		t.Errorf("only %d command lines could be run", ran)
	}
}

// TestSharedReadsChangeNothing does the same with labelled command lines, which lie beside the checkout. It takes minutes.
func TestSharedReadsChangeNothing(t *testing.T) {
	t.Parallel()
	if os.Getenv("FAIRLEAD_LONG") == "" {
		t.Skip("FAIRLEAD_LONG is not set")
	}
	file := cmp.Or(os.Getenv("FAIRLEAD_CASES"), filepath.Join("..", "..", "..", "shared", "eval", "shell", "cases.jsonl"))
	f, err := os.Open(file)
	if err != nil {
		t.Skipf("SKIPPED: the labelled command lines are not beside this checkout: %v", err)
	}
	defer f.Close()
	if why := noSandbox(t); why != "" {
		t.Skipf("SKIPPED: bubblewrap does not work here, so no command is run: %s", why)
	}
	var lines []string
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var c struct{ Command string }
		if err := json.Unmarshal(scan.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, c.Command)
	}
	runAll(t, lines)
}

// noSandbox returns why nothing can be run here.
func noSandbox(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		return err.Error()
	}
	if out, err := sandboxed(t.Context(), t.TempDir(), "true"); err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return ""
}

// patience is how long a command may run, since some reads do not end.
const patience = 2 * time.Second

func sandboxed(ctx context.Context, dir, line string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", dir, dir,
		"--unshare-all", "--die-with-parent", "--new-session", "--chdir", dir, "--setenv", "HOME", "/tmp", "bash", "-c", line)
	var out limited
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	return out.read(), err
}

// limited keeps the beginning of what a command prints, also after the command has been given up.
type limited struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *limited) read() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.buf.Bytes())
}

func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := 64<<10 - l.buf.Len(); room > 0 {
		l.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// ownState is where podman makes a folder for itself whatever it is asked.
const ownState = "/var/lib/containers"

// runAll runs what is a read and has its program here, and returns how many that were.
func runAll(t *testing.T, lines []string) (ran int) {
	t.Helper()
	dir := workFolder(t)
	before := snapshot(t, dir)
	programs, here := make(map[string]bool), make(map[string]bool)
	for _, line := range lines {
		v := probe.Shell(line)
		if v.Annotations.Safety() != annotation.Safe {
			continue
		}
		first := strings.Trim(strings.Fields(line)[0], "({!")
		found, known := here[first]
		if !known {
			found = isHere(first)
			here[first] = found
		}
		if !found {
			continue
		}
		ran++
		programs[strings.Fields(line)[0]] = true
		out, _ := sandboxed(t.Context(), dir, line) // it may fail for want of a network or a file
		for message := range strings.Lines(string(out)) {
			if strings.Contains(strings.ToLower(message), "read-only file system") && !strings.Contains(message, ownState) {
				t.Errorf("%q tried to write: %s", line, message)
			}
		}
		if after := snapshot(t, dir); !maps.Equal(before, after) {
			t.Errorf("%q changed its folder:\n%s", line, difference(before, after))
			before = after
		}
	}
	t.Logf("%d of %d command lines ran, of %d programs", ran, len(lines), len(programs))
	return ran
}

// isHere reports whether the first program of a line is on this machine. Words of the shell are.
func isHere(first string) bool {
	if strings.Contains(first, "=") || first == "" {
		return true
	}
	return exec.Command("bash", "-c", `type -- "$1"`, "bash", first).Run() == nil
}

func difference(before, after map[string]string) string {
	var b strings.Builder
	for name, was := range before {
		if is, ok := after[name]; !ok || is != was {
			fmt.Fprintf(&b, "  %s was %.60q and is %.60q\n", name, was, is)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			fmt.Fprintf(&b, "  %s is new\n", name)
		}
	}
	return b.String()
}

// snapshot returns the contents of all files of a folder. The index of git is left out, since git status refreshes it.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "index" && filepath.Base(filepath.Dir(name)) == ".git" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if d.Type().IsRegular() {
			raw, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += string(raw)
		}
		found[name] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// workFolder returns a folder with a few files and a repository.
func workFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x": "foo 1\nbar 2\n", "a": "1\n2\n", "b": "2\n3\n", "x.json": `{"a":{"b":2},"items":[]}`, "x.go": "package x\n", "go.mod": "module x\n\ngo 1.26\n",
		"x.log": "ready\n", "x.csv": "a,b\n1,2\n", "src/main.go": "package main\n\nfunc main() {}\n", "file.txt": "hello\n", "package.json": `{"name":"x","version":"1.0.0"}`,
		"x.db": "", "mydb.db": "", "foo.txt": "foo\n", "bar.txt": "bar\n", "README.md": "# x\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "-c", `git init -q . && git add -A && git -c user.name=x -c user.email=x@x commit -qm first && git tag v1`)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("no repository in the folder: %v: %s", err, out)
	}
	return dir
}
