package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository writes files into a folder and returns what is wrong with their packages.
func repository(t *testing.T, files map[string]string) (modules []*module, faults string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range modules {
		for _, p := range m.packages {
			all = append(all, p.faults(m)...)
		}
	}
	return modules, strings.Join(all, "\n")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	names := "package cache\n\nconst (\n"
	for c := 'A'; c <= 'Z'; c++ {
		names += "\t" + string(c) + " = 1\n"
	}
	for want, file := range map[string][2]string{
		"cache exports 26 names, more than 25": {"cache/c.go", names + ")\n"},
		"cache has 1501 lines, more than 1500": {"cache/c.go", "package cache\n" + strings.Repeat("\n", 1500)},
		"nothing":                              {"infer/lexicon.go", "package infer\n" + strings.Repeat("\n", 1500)},
		"nothing ":                             {"cache/c_test.go", "package cache\n" + strings.Repeat("\n", 1500)},
	} {
		_, got := repository(t, map[string]string{"go.mod": "module " + prefix + "\n", file[0]: file[1]})
		if nothing := strings.HasPrefix(want, "nothing"); nothing && got != "" || !nothing && !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", file[0], got, want)
		}
	}
}

// Lines and names are those of all files but tests, each package in its innermost module.
func TestRead(t *testing.T) {
	t.Parallel()
	modules, _ := repository(t, map[string]string{
		"go.mod": "module " + prefix + "\n", "contrib/x/go.mod": "module " + prefix + "/contrib/x\n",
		"a.go": "package fairlead\n\nvar A, b = 1, 2\n\ntype T struct{}\n\nfunc (T) M() {}\n", "a_test.go": "package fairlead\n\nfunc TestX() {}\n",
		"a_linux.go": "package fairlead\n\nfunc F() {}\n", "a_other.go": "package fairlead\n\nfunc F() {}\n",
		"contrib/x/x.go": "package x\n", "testdata/y.go": "package y\n", ".z/z.go": "package z\n",
	})
	if len(modules) != 2 || len(modules[0].packages) != 1 || len(modules[1].packages) != 1 {
		t.Fatal(modules)
	}
	if p := modules[0].packages[0]; p.path != prefix || p.lines != 13 || p.names != 3 {
		t.Errorf("got %+v, want 13 lines and the names A, T and F", p)
	}
	if p := modules[1].packages[0]; p.path != prefix+"/contrib/x" || p.lines != 1 {
		t.Errorf("got %+v", p)
	}
}
