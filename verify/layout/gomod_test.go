package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

func TestModulesStateTheLowestVersion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mod  string
		want []string
	}{
		"lowest":      {"module x\n\ngo 1.26.0\n", nil},
		"patch level": {"module x\n\ngo 1.26.8\n", []string{"./go.mod states go 1.26.8"}},
		"none":        {"module x\n", []string{"states go ;"}},
		"toolchain":   {"module x\n\ngo 1.26.0\n\ntoolchain go1.26.8\n", []string{"states toolchain go1.26.8"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, versionFaults(repository(t, map[string]string{"go.mod": tt.mod})), tt.want...)
		})
	}
}

// A module that states the lowest version states it still after it has required ours.
func TestTidyLeavesTheVersionOfAUser(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod := filepath.Join(dir, "go.mod")
	if err := errors.Join(
		os.WriteFile(mod, []byte("module example.com/user\n\ngo 1.26.0\n\nrequire "+prefix+" v0.0.0\n\nreplace "+prefix+" => "+filepath.Clean(root)+"\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nimport _ \""+prefix+"/chain\"\n\nfunc main() {}\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	tidy := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	tidy.Dir = dir
	tidy.Env = append(os.Environ(), "PWD="+dir, "GOFLAGS=", "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(mod)
	if err != nil {
		t.Fatal(err)
	}
	if got, toolchain := directive(text, "go"), directive(text, "toolchain"); got != "1.26.0" || toolchain != "" {
		t.Errorf("after go mod tidy it states go %s, toolchain %q; want go 1.26.0 and no toolchain", got, toolchain)
	}
}
