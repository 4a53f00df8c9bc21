package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/filelock"
)

func TestLockIsOfOneAtATime(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.lock")
	first, err := filelock.Try(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second one: got %v, want os.ErrExist", err)
	}
	given, stop := context.WithCancelCause(t.Context())
	stop(errors.New("given up"))
	if _, err := filelock.Wait(given, name); err == nil || err.Error() != "given up" {
		t.Errorf("one that has given up: got %v", err)
	}
	waits := make(chan error, 1)
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
		defer stop()
		next, err := filelock.Wait(ctx, name)
		if err == nil {
			err = next.Close()
		}
		waits <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Errorf("one that waits: got %v", err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file: %v, %v; want it private", info.Mode(), err)
	}
	if _, err := filelock.Try(filepath.Join(name, "b")); err == nil || errors.Is(err, os.ErrExist) {
		t.Errorf("a file below a file: got %v", err)
	}
}
