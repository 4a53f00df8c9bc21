package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository writes files into a folder and reads it. Without one, the root has a go.mod.
func repository(t *testing.T, files map[string]string) []*module {
	t.Helper()
	root := t.TempDir()
	if files["go.mod"] == "" {
		files["go.mod"] = "module " + prefix + "\n\ngo " + goVersion + "\n"
	}
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
	return modules
}

// importing returns the source of a package that imports some of ours.
func importing(name string, imports ...string) string {
	text := "package " + name + "\n"
	for _, p := range imports {
		text += "\nimport _ \"" + prefix + "/" + p + "\"\n"
	}
	return text
}

// wantFaults compares faults with substrings of them, in this order.
func wantFaults(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d faults, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i, fault := range got {
		if !strings.Contains(fault, want[i]) {
			t.Errorf("got %q, want %q", fault, want[i])
		}
	}
}

func TestRepositoryHasNoFaults(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	faults, err := run(&out, options{json: true, files: 1, functions: longFunction})
	if err != nil || faults != 0 {
		t.Errorf("got %d faults, error %v:\n%s", faults, err, out.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Modules) < 10 || len(r.Packages) < 80 || len(r.Files) < 400 {
		t.Errorf("there are %d modules, %d packages and %d files; has read lost some?", len(r.Modules), len(r.Packages), len(r.Files))
	}
}
