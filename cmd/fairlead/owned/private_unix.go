//go:build unix

package owned

import (
	"fmt"
	"os"
)

// PrivateInfo is [Private] for a file that is open already.
func PrivateInfo(name string, info os.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s can be reached by other users (its mode is %04o), and it holds secrets; run chmod go-rwx on it", name, mode)
	}
	return Info(name, info)
}
