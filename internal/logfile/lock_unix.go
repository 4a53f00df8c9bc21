//go:build unix

package logfile

import (
	"os"
	"syscall"
)

// TryLock takes a file for this process, alone or shared with others that share it. It does
// not wait. The kernel gives it back when the file is closed or the process ends.
func TryLock(f *os.File, alone bool) error {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
}

// Unlock gives a file back.
func Unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
