//go:build unix

package hook

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file until it is closed, or the process ends. An error that is [os.ErrExist] means that another
// process has it.
func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // it is in the user's own folder
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(os.ErrExist, f.Close())
	}
	return f, nil
}
