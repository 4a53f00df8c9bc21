//go:build unix

// Package filelock keeps a file to one writer at a time, of all processes.
package filelock

import (
	"os"
	"syscall"
)

// Lock takes the file for this process. The kernel gives it back when the process
// ends, however that comes.
func Lock(f *os.File) (unlock func(), err error) {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, err
	}
	return func() { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }, nil
}
