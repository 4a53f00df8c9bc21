//go:build !unix

package credentials

import (
	"context"
	"io"
	"sync"
)

var inProcess sync.Mutex

// lockFile keeps this process from changing a credential twice at once. Two processes are not kept from it here: of two
// that refresh at once, the second may have to sign in again.
func lockFile(context.Context, string) (io.Closer, error) {
	inProcess.Lock()
	return unlocker{}, nil
}

type unlocker struct{}

func (unlocker) Close() error { inProcess.Unlock(); return nil }
