package docs_test

import (
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

// programs checks that every block of Go in the files is a whole program that compiles
// against the module in dir and, if run is true, prints what the page shows after it. Other code is not fenced as Go.
func programs(t *testing.T, dir string, run bool, files ...string) {
	t.Helper()
	found := 0
	for _, file := range files {
		text := read(t, dir, file)
		blocks := goBlock.FindAllStringSubmatchIndex(text, -1)
		found += len(blocks)
		for _, at := range blocks {
			line := 1 + strings.Count(text[:at[2]], "\n")
			t.Run(fmt.Sprintf("%s:%d", file, line), func(t *testing.T) {
				t.Parallel()
				want, ok := shown(text[at[1]:])
				runs := ok && run && strings.HasPrefix(text[at[2]:], "package main\n")
				program := compile(t, dir, text[at[2]:at[3]], runs)
				if runs {
					prints(t, program, want)
				}
			})
		}
	}
	if found == 0 {
		t.Error("no block of Go was found; has the fence changed?")
	}
}

func read(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(dir + "/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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

// compile checks the source as a package of the module in dir that exists for this one
// build only. If link is true it returns the path of the program; linking is what takes
// time.
func compile(t *testing.T, dir, source string, link bool) string {
	t.Helper()
	if !strings.HasPrefix(source, "package ") {
		t.Fatal("the block is not a whole program: begin it with a package clause")
	}
	module, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	file, overlay, program := filepath.Join(temp, "block.go"), filepath.Join(temp, "overlay.json"), filepath.Join(temp, "program")
	replace, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(module, "internal", "docsblock", "main.go"): file},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(file, []byte(source), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		t.Fatal(err)
	}
	args := []string{"-C", module, "list", "-export", "-overlay", overlay, "./internal/docsblock"}
	if link {
		args = []string{"-C", module, "build", "-overlay", overlay, "-o", program, "./internal/docsblock"}
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// fresh runs a program in a directory that has nothing but it and a go.mod, as a newcomer
// would against a clone of this repository, and returns what it prints.
func fresh(t *testing.T, adapter, program string) string {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	const module = "github.com/fairlead-go/fairlead"
	var out []byte
	for _, args := range [][]string{
		{"mod", "init", "example.com/fresh"},
		{"mod", "edit", "-replace", module + "=" + root, "-replace", module + "/" + adapter + "=" + filepath.Join(root, adapter)},
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
