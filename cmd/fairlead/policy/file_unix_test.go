//go:build unix

package policy_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

// A file that has become a pipe does not hold the next call.
func TestPipeIsNotAPolicy(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "policy.json")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Load(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}
