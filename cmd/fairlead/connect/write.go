package connect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Journal is a folder with what was changed, so that it can be taken back: the files as they were, and a list of the
// changes. Both may hold what the files hold, so only their owner may read them.
type Journal string

// A change is one file, written once.
type change struct {
	Time    time.Time   `json:"time"`
	Client  string      `json:"client"`
	Path    string      `json:"path"`
	Backup  string      `json:"backup,omitempty"` // a file in the folder, "" if there was none before
	Mode    fs.FileMode `json:"mode"`
	Before  string      `json:"before,omitempty"` // the hash, "" for a file that was not there
	After   string      `json:"after"`
	Entries []original  `json:"entries,omitempty"`
	Hooks   bool        `json:"hooks,omitempty"`
}

// Apply writes the file, and keeps what it was. A file that has changed since it was planned is left alone.
func (j Journal) Apply(f *File) error {
	if !f.Changed() {
		return nil
	}
	changes, err := j.changes()
	if err != nil {
		return err
	}
	if err := unchanged(f.Path, f.before); err != nil {
		return err
	}
	c := change{Time: time.Now(), Client: f.Client, Path: f.Path, Mode: f.mode, After: hash(f.after), Entries: f.entries, Hooks: f.Hooks}
	if f.before != nil {
		c.Before, c.Backup = hash(f.before), fmt.Sprintf("%s-%s", hash(append([]byte(f.Path+"\x00"), f.before...))[:16], filepath.Base(f.Path))
		if err := j.write(c.Backup, f.before); err != nil {
			return err
		}
	}
	if err := j.save(append(changes, c)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	return replace(f.Path, f.after, f.mode)
}

// unchanged returns an error if a file is not what it was; nil is for a file that was not there.
func unchanged(path string, before []byte) error {
	now, err := os.ReadFile(filepath.Clean(path))
	switch {
	case before == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case before == nil || !bytes.Equal(now, before):
		return errors.New("it has changed in the meantime; run fairlead connect again")
	}
	return nil
}

// replace puts a file in the place of another one, so that a reader sees one or the other whole.
func replace(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".fairlead-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // which is there after an error only
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

const journalFile = "changes.json"

func (j Journal) changes() (all []change, err error) {
	text, err := os.ReadFile(filepath.Join(string(j), journalFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of what fairlead connect has changed cannot be read: %w", err)
	}
	return all, nil
}

func (j Journal) save(all []change) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return j.write(journalFile, append(text, '\n'))
}

func (j Journal) write(name string, text []byte) error {
	if err := os.MkdirAll(string(j), 0o700); err != nil {
		return err
	}
	return replace(filepath.Join(string(j), name), text, 0o600)
}

// Undo returns the files that were changed, with what each would be without the changes: as it was, byte for byte, if
// nobody has changed it since, and otherwise with its servers and hooks taken out. It writes nothing.
func (j Journal) Undo() ([]*File, error) {
	changes, err := j.changes()
	if err != nil {
		return nil, err
	}
	var files []*File
	for i, c := range changes {
		if slices.ContainsFunc(changes[:i], func(before change) bool { return before.Path == c.Path }) {
			continue
		}
		f := &File{Client: c.Client, Path: c.Path}
		there, err := f.read()
		if !there && err == nil {
			continue // it is gone, and so are the servers in it
		}
		if f.Fault = err; err == nil {
			f.after, f.Fault = j.without(changes, f)
			f.remove = f.after == nil
		}
		files = append(files, f)
	}
	return files, nil
}

// without returns a file without its changes, nil for a file that was not there before them.
func (j Journal) without(changes []change, f *File) ([]byte, error) {
	text := f.before
	for _, c := range slices.Backward(changes) {
		switch now := hash(text); {
		case c.Path != f.Path || now == c.Before:
		case now != c.After:
			var err error
			if text, err = takeOut(text, c); err != nil {
				return nil, err
			}
		case c.Backup == "":
			text = nil
		default:
			before, err := os.ReadFile(filepath.Join(string(j), filepath.Base(c.Backup)))
			if err != nil {
				return nil, fmt.Errorf("its backup cannot be read: %w", err)
			}
			if hash(before) != c.Before {
				return nil, fmt.Errorf("its backup %s is not what it was", filepath.Join(string(j), c.Backup))
			}
			text = before
		}
	}
	return text, nil
}

// Revert writes a file that Undo has returned, and removes one that was not there before.
func (j Journal) Revert(f *File) error {
	if f.Fault != nil {
		return nil
	}
	if err := unchanged(f.Path, f.before); err != nil {
		return err
	}
	var err error
	switch {
	case f.remove:
		err = os.Remove(f.Path)
	case !bytes.Equal(f.after, f.before):
		err = replace(f.Path, f.after, f.mode)
	}
	if err != nil {
		return err
	}
	changes, err := j.changes()
	if err != nil {
		return err
	}
	var backups []string
	changes = slices.DeleteFunc(changes, func(c change) bool {
		if c.Path == f.Path && c.Backup != "" {
			backups = append(backups, c.Backup)
		}
		return c.Path == f.Path
	})
	if err := j.save(changes); err != nil {
		return err
	}
	for _, name := range backups {
		err = errors.Join(err, os.Remove(filepath.Join(string(j), filepath.Base(name))))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
