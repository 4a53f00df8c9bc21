//go:build !unix

package hook

import (
	"io"
	"os"
)

// lockFile makes a file that another process cannot remove while it is open.
func lockFile(name string) (io.Closer, error) {
	_ = os.Remove(name)
	return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}
