// Package wholefile writes files that are reviewed like code.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file that others see before or after, and not in between. A new one may be read by all.
func Replace(path string, text []byte) error {
	mode := fs.FileMode(0o644) // it is reviewed like code, and holds no secret
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(dir) //nolint:gosec // the folder that the host named; so that the new name lasts
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
