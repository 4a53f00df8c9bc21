//go:build unix

package owned

import (
	"fmt"
	"os"
	"syscall"
)

// Info is [File] for a file that is open already.
func Info(name string, info os.FileInfo) error {
	const othersWrite = 0o002
	if info.Mode().Perm()&othersWrite != 0 {
		return fmt.Errorf("%s can be written by every user (its mode is %04o), who could change what is allowed; run chmod o-w on it", name, info.Mode().Perm())
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if me := os.Geteuid(); ok && stat.Uid != 0 && int(stat.Uid) != me {
		return fmt.Errorf("%s belongs to the user %d, and this is %d; it has to be one's own, or root's", name, stat.Uid, me)
	}
	return nil
}
