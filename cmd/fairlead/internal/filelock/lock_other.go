//go:build !unix && !windows

package filelock

import (
	"errors"
	"os"
)

func unlock(*os.File) error { return nil }

func lock(*os.File) error { return errors.ErrUnsupported }
