package logfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A Head records how far a file goes, in a file beside it, so that a file that was cut off is recognized.
type Head struct {
	Written Point `json:"written"`
	Synced  Point `json:"synced"` // what outlives a loss of power
}

// A Point is a place in a file: after so many records, the last one with the hash.
type Point struct {
	Records int64  `json:"records"`
	Hash    string `json:"hash"`
}

// The faults of a head.
var (
	ErrHead   = errors.New("the head cannot be read")
	ErrNoHead = errors.New("there are records and no head")
)

// HeadName returns where the head of a file is kept.
func HeadName(file string) string { return filepath.Clean(file) + ".head" }

// headBytes is the size of every head, so that one write replaces another in place.
const headBytes = 320

// Bytes returns what a head's file holds.
func (h Head) Bytes() []byte {
	b, _ := json.Marshal(h) //nolint:errchkjson // numbers and texts
	b = append(b, bytes.Repeat([]byte(" "), max(0, headBytes-1-len(b)))...)
	return append(b, '\n')
}

// ReadHead returns the head of a file, nil if there is none.
func ReadHead(file string) (*Head, error) {
	raw, err := os.ReadFile(HeadName(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a head that is not there is an answer
	}
	if err != nil {
		return nil, err
	}
	h := new(Head)
	if err := json.Unmarshal(raw, h); err != nil || h.Written.Records < h.Synced.Records || h.Synced.Records < 0 {
		return nil, ErrHead
	}
	return h, nil
}

// HeadOf returns the head of an open file, and makes one, whole or not at all, for an empty file that has none.
func HeadOf(file *os.File) (*Head, error) {
	name := file.Name()
	h, err := ReadHead(name)
	if err != nil || h != nil {
		return h, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Size() > 0:
		return nil, ErrNoHead
	}
	h = new(Head)
	fresh := HeadName(name) + ".new"
	if err := os.WriteFile(fresh, h.Bytes(), 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, HeadName(name)); err != nil {
		return nil, err
	}
	syncDir(filepath.Dir(name))
	return h, nil
}

// syncDir makes the names of new files outlive a loss of power, if the system can.
func syncDir(name string) {
	if dir, err := os.Open(filepath.Clean(name)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

// Replace gives a file another head, whole or not at all.
func Replace(file string, h Head) error {
	if err := WriteWhole(HeadName(file)+".new", h.Bytes()); err != nil {
		return err
	}
	if err := os.Rename(HeadName(file)+".new", HeadName(file)); err != nil {
		return err
	}
	syncDir(filepath.Dir(file))
	return nil
}

// WriteWhole writes a file and returns when it is on the disk.
func WriteWhole(name string, text []byte) error {
	out, err := os.OpenFile(filepath.Clean(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Sync(), out.Close())
}
