//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

func lock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EWOULDBLOCK):
			return os.ErrExist
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
