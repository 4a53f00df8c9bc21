//go:build !unix && !windows

package filelock

import (
	"errors"
	"os"
)

func lock(*os.File) error { return errors.ErrUnsupported }
