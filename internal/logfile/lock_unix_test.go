//go:build unix

package logfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// A child that was forked, and has not executed its program yet, has a copy of each open file. It keeps no lock of a file
// that its parent has left.
func TestCopyOfAFileHoldsNoLock(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.head")
	open := func() *os.File {
		t.Helper()
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	if err := logfile.TryLock(first, false); err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(first.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(child) })
	if err := logfile.TryLock(second, true); err == nil {
		t.Fatal("the lock keeps nobody out")
	}
	if err := logfile.Leave(first); err != nil {
		t.Error(err)
	}
	if err := logfile.TryLock(second, true); err != nil {
		t.Errorf("the copy holds the lock: %v", err)
	}
	if err := logfile.Leave(second); err != nil {
		t.Error(err)
	}
}
