//go:build unix

package owned_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
)

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o644: false, 0o664: false, 0o666: true, 0o602: true} {
		name := filepath.Join(dir, mode.String())
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if err := owned.File(name); (err != nil) != refused || refused && !strings.Contains(err.Error(), "chmod o-w") {
			t.Errorf("%v: got %v", mode, err)
		}
	}
	if err := owned.File(filepath.Join(dir, "none")); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if owned.File(dir) == nil {
		t.Error("a folder of everyone is taken")
	}
	name := filepath.Join(dir, "given away")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, os.Geteuid()+4321, -1); err != nil {
		t.Skipf("SKIPPED: only root can give a file away: %v", err)
	}
	if err := owned.File(name); err == nil || !strings.Contains(err.Error(), "belongs to the user") {
		t.Errorf("another user's: got %v", err)
	}
}
