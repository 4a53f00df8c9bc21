package paths_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-go/fairlead/internal/paths"
)

func TestRoots(t *testing.T) {
	t.Parallel()
	r, err := paths.Roots{Folder: "/srv/app/", Home: "/home/me", Read: []string{".", "/usr/share", "~/notes"}, Write: []string{"scratch", "/tmp/x"}}.Clean()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name         string
		reads, write bool
	}{
		{"main.go", true, false},
		{"/srv/app", true, false},
		{"/srv/application", false, false},
		{"/srv", false, false},
		{"..", false, false},
		{"a/../../b", false, false},
		{"a/../b", true, false},
		{"/usr/share/dict/words", true, false},
		{"/usr/share/../lib", false, false},
		{"~/notes/today", true, false},
		{"~/notes/../.ssh", false, false},
		{"~/.ssh/id_rsa", false, false},
		{"~root/x", false, false},
		{"~+/x", false, false},
		{"scratch/a", true, true},
		{"scratch", true, false},
		{"scratch/../a", true, false},
		{"scratch/.git/hooks/pre-commit", true, false},
		{"scratch/.env", true, false},
		{"scratch/sub/Makefile", true, false},
		{"scratch/Package.json", true, false},
		{"/tmp/x/y", true, true},
		{"/tmp/xy", false, false},
		{"a\x00b", false, false},
	} {
		clean, ok := r.Resolve(r.Folder, tt.name)
		if got := ok && r.Reads(clean); got != tt.reads {
			t.Errorf("%q is read: %v, want %v", tt.name, got, tt.reads)
		}
		if got := ok && r.Writes(clean, false); got != tt.write {
			t.Errorf("%q is written: %v, want %v", tt.name, got, tt.write)
		}
	}
	if !r.Writes("/srv/app/scratch", true) {
		t.Error("nothing may be put into a root")
	}
}

func TestRootsThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]paths.Roots{
		"no folder":         {},
		"a relative folder": {Folder: "work"},
		"a relative home":   {Folder: "/srv", Home: "me"},
		"no home":           {Folder: "/srv", Read: []string{"~/x"}},
		"an empty root":     {Folder: "/srv", Write: []string{""}},
	} {
		if _, err := r.Clean(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A link on this machine counts as what it leads to.
func TestLinksOfThisMachine(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	for _, dir := range []string{filepath.Join(root, "sub", ".hidden"), outside} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": outside, "in": filepath.Join(root, "sub"), "loop": "loop", "nowhere": "/no/such", "hidden": filepath.Join(root, "sub", ".hidden")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skipf("SKIPPED: no links: %v", err)
		}
	}
	for name, want := range map[string]struct{ reads, writes bool }{
		"sub/new/file": {true, true},
		"in/x":         {true, true},
		"out/x":        {false, false},
		"out":          {false, false},
		"out/../x":     {false, false},
		"in/../x":      {true, true},
		"loop":         {false, false},
		"nowhere":      {false, false},
		"hidden/x":     {true, false},
	} {
		r, err := paths.Roots{Folder: root, Read: []string{"."}, Write: []string{"."}, Local: true}.Clean()
		if err != nil {
			t.Fatal(err)
		}
		clean, ok := r.Resolve(root, name)
		if got := ok && r.Reads(clean); got != want.reads {
			t.Errorf("%s is read: %v, want %v", name, got, want.reads)
		}
		if got := ok && r.Writes(clean, false); got != want.writes {
			t.Errorf("%s is written: %v, want %v", name, got, want.writes)
		}
	}
}
