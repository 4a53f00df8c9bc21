// Package docstest compiles the programs that stand in documents, and runs them.
package docstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// A block is one block of Go of a document.
type block struct {
	file   string
	line   int // of its first line
	source string
	after  string // the text of the document behind it
}

// Programs checks that every block of Go in the files is a whole program that compiles
// against the module of the working directory. Of the files that run is true for, it
// prints what the page shows after it. None is skipped: what is no program is not
// fenced as Go.
func Programs(t *testing.T, run func(file string) bool, files ...string) {
	t.Helper()
	blocks := blocksOf(t, files)
	if len(blocks) == 0 {
		t.Fatal("no block of Go was found; has the fence changed?")
	}
	program := build(t, blocks)
	for i, b := range blocks {
		t.Run(fmt.Sprintf("%s:%d", b.file, b.line), func(t *testing.T) {
			t.Parallel()
			if want, ok := shown(b.after); ok && run(b.file) && b.isMain() {
				prints(t, program, strconv.Itoa(i), want)
			}
		})
	}
}

func blocksOf(t *testing.T, files []string) []block {
	t.Helper()
	var blocks []block
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a test names its own documents
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range goBlock.FindAllSubmatchIndex(text, -1) {
			line := 1 + bytes.Count(text[:at[2]], []byte("\n"))
			b := block{file, line, string(text[at[2]:at[3]]), string(text[at[1]:])}
			if !strings.HasPrefix(b.source, "package ") {
				t.Fatalf("%s:%d: the block is no whole program: begin it with a package clause", file, line)
			}
			blocks = append(blocks, b)
		}
	}
	return blocks
}

func (b block) isMain() bool { return strings.HasPrefix(b.source, "package main\n") }

// shown returns the block that follows a program at once, or after "It prints":
// what it writes.
func shown(after string) (string, bool) {
	after = strings.TrimPrefix(strings.TrimPrefix(after, "\n\nIt prints"), ":")
	for _, fence := range []string{"```", "````"} {
		for _, kind := range []string{"", "text"} {
			if rest, ok := strings.CutPrefix(after, "\n\n"+fence+kind+"\n"); ok {
				out, _, ok := strings.Cut(rest, "\n"+fence+"\n")
				return out, ok
			}
		}
	}
	return "", false
}

// prints runs one of the programs.
func prints(t *testing.T, program, which, want string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, which)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != want {
		t.Errorf("it ends with %v and prints\n%s\nand not what is shown:\n%s", err, got, want)
	}
}

var mainFunc = regexp.MustCompile(`(?m)^func main\(\)`)

// build compiles all blocks as packages of this module that exist for this one build
// only, and links them into one program, which runs the one that its argument counts:
// linking one by one takes most of a minute.
func build(t *testing.T, blocks []block) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := make(map[string]string)
	add := func(pkg, source string) {
		file := filepath.Join(dir, pkg+".go")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, "internal", "docsblock", pkg, "block.go")] = file
	}
	var imports, cases strings.Builder
	for i, b := range blocks {
		name := "_"
		if b.isMain() {
			name = fmt.Sprintf("block%d", i)
			b.source = "package " + name + mainFunc.ReplaceAllString(strings.TrimPrefix(b.source, "package main"), "func Main()")
			fmt.Fprintf(&cases, "\tcase \"%d\":\n\t\t%s.Main()\n", i, name)
		}
		add(fmt.Sprintf("block%d", i), fmt.Sprintf("//line %s:%d\n%s", filepath.Join(root, b.file), b.line, b.source))
		fmt.Fprintf(&imports, "\t%s \"%s/internal/docsblock/block%d\"\n", name, module(t), i)
	}
	add("main", fmt.Sprintf("package main\n\nimport (\n\t\"os\"\n\n%s)\n\nfunc main() {\n\tswitch os.Args[1] {\n%s\t}\n}\n", &imports, &cases))
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlayFile, "-o", program, "./internal/docsblock/main")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// module returns the path of the module of the working directory.
func module(t *testing.T) string {
	t.Helper()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	return strings.TrimSpace(strings.TrimPrefix(first, "module "))
}

// Tested checks that a README says with which version of an SDK its module is tested:
// the one in go.mod.
func Tested(t *testing.T, readme, sdk string) {
	t.Helper()
	text, err := os.ReadFile(readme) //nolint:gosec // a test names its own documents
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(regexp.QuoteMeta(sdk) + ` (v\S+)`).FindSubmatch(mod)
	if version == nil || !strings.Contains(strings.ReplaceAll(string(text), "`", ""), string(version[0])) {
		t.Errorf("%s does not say that it is tested with %q, as go.mod has it", readme, version)
	}
}

// First returns the first program of a document, and what it prints by the page.
func First(t *testing.T, file string) (program, prints string) {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // a test names its own documents
	if err != nil {
		t.Fatal(err)
	}
	at := goBlock.FindSubmatchIndex(text)
	if at == nil {
		t.Fatalf("%s has no block of Go", file)
	}
	prints, _ = shown(string(text[at[1]:]))
	return string(text[at[2]:at[3]]), prints
}

// Fresh runs a program in a directory that has nothing but it and a go.mod, as a newcomer
// would against a clone of this repository, and returns what it prints. The working
// directory is that of a module under contrib/.
func Fresh(t *testing.T, program string) string {
	t.Helper()
	contrib, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, adapter := filepath.Dir(filepath.Dir(contrib)), "github.com/fairlead-go/fairlead/contrib/"+filepath.Base(contrib)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, args := range [][]string{
		{"mod", "init", "example.com/fresh"},
		{"mod", "edit", "-replace", "github.com/fairlead-go/fairlead=" + root, "-replace", adapter + "=" + contrib},
		{"run", "."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PWD="+dir, "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err = cmd.Output(); err != nil {
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				out = append(out, exit.Stderr...)
			}
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return string(out)
}
