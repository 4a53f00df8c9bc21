//go:build !unix && !windows

package logfile

import (
	"errors"
	"os"
)

// TryLock fails, since the system has no locks that end with their process.
func TryLock(*os.File, bool) error { return errors.ErrUnsupported }

// Unlock does nothing.
func Unlock(*os.File) error { return nil }
