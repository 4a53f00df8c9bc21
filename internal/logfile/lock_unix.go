//go:build unix

package logfile

import (
	"os"
	"syscall"
)

// TryLock takes a file for this process, alone or shared, until it is closed. It does not wait.
func TryLock(f *os.File, alone bool) error {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
}

// Unlock gives a file back, also while a child of this process that has not executed its program yet has it open: closing
// a file releases a lock only once each copy of it is closed.
func Unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
