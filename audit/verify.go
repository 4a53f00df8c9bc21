package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A State is what [Verify] found. The zero value is Damaged.
type State uint8

// The states of a file.
const (
	Damaged     State = iota // something was changed or is missing
	NotAttested              // what is there is one chain; there is no head, so nobody knows whether the end is
	Interrupted              // a writer ended in the middle, or is at work; opening the file mends and marks it
	Whole                    // every record is there, up to the one that the head speaks of
)

// String returns the state in words.
func (s State) String() string {
	return [...]string{"damaged", "valid prefix, end not attested", "interrupted", "whole"}[min(s, Whole)]
}

// A Report is what [Verify] found.
type Report struct {
	State   State
	Problem string // what is wrong, and where; "" for Whole
	Records int64  // that are one chain, from the beginning
	// Hash is that of the last of these. Who keeps it elsewhere, with the number, sees
	// also where file and head were both replaced.
	Hash string
	// Open are the calls that were about to be made and have no end: nobody knows
	// whether they happened.
	Open []Record
	// Recovered is how often a start found that the writer before it had been
	// interrupted.
	Recovered int64
}

// Verify reads the file of a [File] and its head and says whether anything was
// changed, taken out or cut off. It changes nothing. The error is that of reading.
//
// The hashes have no key: who can write both file and head can write a whole new
// pair. Keep [Report.Hash] where they cannot write.
func Verify(name string) (Report, error) {
	h, headErr := readHead(name) // before the records: a writer goes the other way
	if headErr != nil && !errors.Is(headErr, errHead) {
		return Report{}, headErr
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	var counts []int64
	if h != nil {
		counts = []int64{h.Synced.Records, h.Written.Records}
	}
	r, err := replayed(f, counts...)
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	report := Report{Records: r.Records, Hash: r.Hash, Recovered: r.recovered, Open: r.interrupted()}
	report.State, report.Problem = judge(h, headErr, r)
	return report, nil
}

func judge(h *head, headErr error, r *replay) (State, string) {
	switch {
	case r.fault != "":
		return Damaged, r.fault
	case headErr != nil:
		return Damaged, headErr.Error()
	case h == nil && r.junk.Len() > 0:
		return NotAttested, fmt.Sprintf("there is no head, and the last %d bytes are a record that was cut off", r.junk.Len())
	case h == nil:
		return NotAttested, "there is no head: records may be missing at the end"
	}
	fault, lost := h.disagrees(r)
	switch {
	case fault != "":
		return Damaged, fault
	case lost > 0:
		return Damaged, fmt.Sprintf("%d records are missing at the end; they had not been synced, so a loss of power may have taken them", lost)
	case r.junk.Len() > 0:
		return Interrupted, fmt.Sprintf("the last %d bytes are a record that was cut off", r.junk.Len())
	case r.Records > h.Written.Records:
		return Interrupted, fmt.Sprintf("the head does not know the last %d records yet", r.Records-h.Written.Records)
	}
	return Whole, ""
}
