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
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// Programs checks that every block of Go in the files is a whole program that compiles
// against the module of the working directory. Of the files that run is true for, it
// prints what the page shows after it. None is skipped: what is no program is not
// fenced as Go.
func Programs(t *testing.T, run func(file string) bool, files ...string) {
	t.Helper()
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a test names its own documents
		if err != nil {
			t.Fatal(err)
		}
		blocks := goBlock.FindAllSubmatchIndex(text, -1)
		found += len(blocks)
		for _, at := range blocks {
			line := 1 + bytes.Count(text[:at[2]], []byte("\n"))
			t.Run(fmt.Sprintf("%s:%d", file, line), func(t *testing.T) {
				t.Parallel()
				program := compile(t, string(text[at[2]:at[3]]))
				if want, ok := shown(string(text[at[1]:])); ok && run(file) && strings.HasPrefix(string(text[at[2]:]), "package main\n") {
					prints(t, program, want)
				}
			})
		}
	}
	if found == 0 {
		t.Error("no block of Go was found; has the fence changed?")
	}
}

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

// prints runs a program.
func prints(t *testing.T, program, want string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != want {
		t.Errorf("it ends with %v and prints\n%s\nand not what is shown:\n%s", err, got, want)
	}
}

// compile builds the source as a package of this module that exists for this one
// build only, and returns where the program is.
func compile(t *testing.T, source string) string {
	t.Helper()
	if !strings.HasPrefix(source, "package ") {
		t.Fatal("the block is no whole program: begin it with a package clause")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "block.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil { //nolint:gosec // in a directory of the test's own
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "internal", "docsblock", "main.go"): file},
	})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlayFile, "-o", program, "./internal/docsblock")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
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
