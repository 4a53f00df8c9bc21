//go:build !unix

package redistest

import (
	"errors"
	"os"
)

func pause(*os.Process) error  { return errors.ErrUnsupported }
func resume(*os.Process) error { return errors.ErrUnsupported }
