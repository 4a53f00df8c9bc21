package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A head says how far a file goes. It stands in a file of its own beside it, so that
// a file that was cut off does not pass for a shorter one.
type head struct {
	Written point `json:"written"`
	Synced  point `json:"synced"` // what outlives a loss of power
}

// headName is where the head of a file stands.
func headName(file string) string { return filepath.Clean(file) + ".head" }

// headBytes is the size of every head, so that one write replaces another in place.
const headBytes = 320

func (h head) bytes() []byte {
	b, _ := json.Marshal(h) //nolint:errchkjson // numbers and texts
	b = append(b, bytes.Repeat([]byte(" "), max(0, headBytes-1-len(b)))...)
	return append(b, '\n')
}

// readHead returns nil where there is no head.
func readHead(file string) (*head, error) {
	raw, err := os.ReadFile(headName(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a head that is not there is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	h := new(head)
	if err := json.Unmarshal(raw, h); err != nil || h.Written.Records < h.Synced.Records || h.Synced.Records < 0 {
		return nil, errHead
	}
	return h, nil
}

var errHead = errors.New("the head cannot be read")

// headOf returns the head of an open file, and makes one for an empty file that has
// none. It stands there whole or not at all.
func headOf(file *os.File) (*head, error) {
	name := file.Name()
	h, err := readHead(name)
	if err != nil || h != nil {
		return h, damagedBy(err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > 0 {
		return nil, &DamagedError{Reason: "there are records and no head"}
	}
	h = new(head)
	fresh := headName(name) + ".new"
	if err := os.WriteFile(fresh, h.bytes(), 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, headName(name)); err != nil {
		return nil, err
	}
	syncDir(filepath.Dir(name))
	return h, nil
}

func damagedBy(err error) error {
	if errors.Is(err, errHead) {
		return &DamagedError{Reason: err.Error()}
	}
	return err
}

// syncDir makes the names of new files outlive a loss of power, where the system
// can.
func syncDir(name string) {
	if dir, err := os.Open(filepath.Clean(name)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

// disagrees says how what was read contradicts the head, and how many records are
// missing that no one had promised to keep.
func (h *head) disagrees(r *replay) (fault string, lost int64) {
	switch {
	case r.fault != "":
		return r.fault, 0
	case r.Records < h.Synced.Records:
		return fmt.Sprintf("%d records are there and there were %d: the end is missing or was changed", r.Records, h.Written.Records), 0
	case r.passed[h.Synced.Records] != h.Synced.Hash:
		return fmt.Sprintf("record %d is not the one that the head speaks of", h.Synced.Records), 0
	case r.Records < h.Written.Records:
		return "", h.Written.Records - r.Records
	case r.passed[h.Written.Records] != h.Written.Hash:
		return fmt.Sprintf("record %d is not the one that the head speaks of", h.Written.Records), 0
	}
	return "", 0
}
