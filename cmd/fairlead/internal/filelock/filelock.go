// Package filelock keeps processes from doing the same thing at once: a lock of a file ends when it is closed, and with
// its process, whatever ends that.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Try locks a file, which is made if it is not there. An error that is [os.ErrExist] means that another one has it.
func Try(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // it is in a folder of the user's own
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", name, err), f.Close())
	}
	return held{f}, nil
}

// A held file is unlocked when it is closed, also while a child of this process that has not executed its program yet has
// it open.
type held struct{ *os.File }

func (h held) Close() error {
	_ = unlock(h.File) // closing it does the same, if no child has it
	return h.File.Close()
}

// Wait locks a file as [Try] does, and waits until ctx is done while another one has it.
func Wait(ctx context.Context, name string) (io.Closer, error) {
	for {
		held, err := Try(name)
		if !errors.Is(err, os.ErrExist) {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// pause is how long to wait before a lock that another one has is tried again.
const pause = 50 * time.Millisecond
