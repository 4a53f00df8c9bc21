package logfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// region is a byte that no file has, since a lock keeps others from reading what it covers.
func region() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// TryLock takes a file for this process, alone or shared, until it is closed. It does not wait.
func TryLock(f *os.File, alone bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, region())
}

// Unlock gives a file back.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, region())
}
