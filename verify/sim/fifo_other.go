//go:build !unix

package sim

import "os"

// mkfifo makes what is no regular file either.
func mkfifo(name string) error { return os.Mkdir(name, 0o700) }
