package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadLock reads a lock file, see [ParseLock]. Where there is none, the error is
// [fs.ErrNotExist] and nothing is trusted: a host that wants to accept what it
// meets the first time says so, by [Options.Lock] with an empty Lock and
// [Catalog.Accept].
func LoadLock(path string) (*Lock, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("catalog: the lock: %w", err)
	}
	l, err := ParseLock(text)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return l, nil
}

// Save writes the lock to a file, all of it or nothing: a reader, and a host that
// dies in between, finds the old text or the new one.
func (l *Lock) Save(path string) (err error) {
	text, err := l.MarshalText()
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Clean(path), text); err != nil {
		return fmt.Errorf("catalog: the lock was not saved: %w", err)
	}
	return nil
}

// replaceFile puts a file with the text in the place of path.
func replaceFile(path string, text []byte) error {
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
	return syncDir(dir)
}

// syncDir makes the new name last.
func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
