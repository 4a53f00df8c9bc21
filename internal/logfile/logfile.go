// Package filelock keeps a file to one writer at a time, of all processes.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Open opens a file to read and to append to, makes it where it is not there, and
// takes it for this process until it is given back by what it returns.
func Open(name string) (f *os.File, giveBack func() error, err error) {
	f, err = os.OpenFile(filepath.Clean(name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	unlock, err := lock(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s has another writer; end that process, or use another file: %w", name, err), f.Close())
	}
	return f, func() error {
		unlock()
		return f.Close()
	}, nil
}
