//go:build !unix

package sim

import "os"

func mkfifo(name string) error { return os.Mkdir(name, 0o700) }
