//go:build unix

package audit_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
)

// A closed file counts as closed although a child of the process, which has not executed its program yet, has copies of it:
// who opens it next ends the calls that were open.
func TestClosedFileIsNotHeldByACopy(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(t.Context(), record(audit.Intent, 1)); err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(f.Heads().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(child) })
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := next.Interrupted(); len(got) != 1 {
		t.Errorf("interrupted: %+v, want the call that was open", got)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}
