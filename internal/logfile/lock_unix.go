//go:build unix

package logfile

import (
	"os"
	"syscall"
)

// lock takes the file for this process. The kernel gives it back when the process
// ends, however that comes.
func lock(f *os.File) (unlock func(), err error) {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, err
	}
	return func() { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }, nil
}
