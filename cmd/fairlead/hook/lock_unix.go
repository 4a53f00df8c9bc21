//go:build unix

package hook

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file until it is closed, or the process ends. An error that is [os.ErrExist] means that another
// process has it.
func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, os.ErrExist
	}
	return f, nil
}
