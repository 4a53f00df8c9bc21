package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// A State is the state of a file. The zero value is Damaged.
type State uint8

// The states of a file.
const (
	Damaged     State = iota // something was changed or is missing
	NotAttested              // the records are one chain, but without a head the end may be missing
	Interrupted              // a writer was interrupted, or is at work; opening the file repairs and marks it
	Whole                    // every record is there, up to the head's
)

// String returns the state in words.
func (s State) String() string {
	return [...]string{"damaged", "valid prefix, end not attested", "interrupted", "whole"}[min(s, Whole)]
}

// A Report is what [Verify] found.
type Report struct {
	File    string
	State   State
	Problem string // what is wrong, and where; "" for Whole, except by [VerifyAll]
	Records int64  // that are one chain, from the beginning
	// Hash is that of the last of these. A [Checkpoint] of both, kept elsewhere, also shows whether file and head were
	// both replaced.
	Hash string
	// Open are the intents without an end: it is unknown whether the calls happened.
	Open []Record
	// Recovered is how often a start found that the writer before it had been interrupted.
	Recovered int64
	// Before is where the file ended that this one goes on after, nil for none.
	Before *Earlier
	// Since is when the first record was written.
	Since time.Time
	// First is the hash of the first record, which names the file whatever it is called; "" for none.
	First string
}

// Verify reads the file of a [File] and its head and reports whether records were changed,
// removed or cut off. It changes nothing. The error is that of reading.
//
// The hashes have no key: a program that can write both file and head can replace both.
// Keep a [Checkpoint] out of its reach.
func Verify(name string) (Report, error) {
	report, _, err := verify(name)
	return report, err
}

// verify is Verify, and keeps the hashes after the given numbers of records.
func verify(name string, counts ...int64) (Report, *replay, error) {
	h, headErr := logfile.ReadHead(name) // before the records: a writer goes the other way
	if headErr != nil && !errors.Is(headErr, logfile.ErrHead) {
		return Report{}, nil, fmt.Errorf("audit: %w", headErr)
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return Report{}, nil, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	if h != nil {
		counts = append(counts, h.Synced.Records, h.Written.Records)
	}
	r, err := replayed(f, counts...)
	if err != nil {
		return Report{}, nil, fmt.Errorf("audit: %w", err)
	}
	report := Report{
		File: name, Records: r.records, Hash: string(r.hash), Recovered: r.recovered, Open: r.interrupted(), Before: r.before, Since: r.since, First: r.first,
	}
	report.State, report.Problem = judge(h, headErr, r)
	return report, r, nil
}

// judge returns the state of a file from its records and its head, and what is wrong, the worst first.
func judge(h *logfile.Head, headErr error, r *replay) (State, string) {
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
	if r.takesOver(h) {
		return Interrupted, "the head is still that of the file before this one"
	}
	fault, lost := disagrees(h, r)
	switch {
	case fault != "":
		return Damaged, fault
	case lost > 0:
		return Damaged, fmt.Sprintf("%d records are missing at the end; they had not been synced, so a loss of power may have taken them", lost)
	case r.junk.Len() > 0:
		return Interrupted, fmt.Sprintf("the last %d bytes are a record that was cut off", r.junk.Len())
	case r.records > h.Written.Records:
		return Interrupted, fmt.Sprintf("the head does not know the last %d records yet", r.records-h.Written.Records)
	}
	return Whole, ""
}

// disagrees reports how the records contradict the head, and how many records are missing
// that the head does not promise to keep.
func disagrees(h *logfile.Head, r *replay) (fault string, lost int64) {
	switch {
	case r.fault != "":
		return r.fault, 0
	case r.records < h.Synced.Records:
		return fmt.Sprintf("%d records are there and there were %d: the end is missing or was changed", r.records, h.Written.Records), 0
	case r.passed[h.Synced.Records] != h.Synced.Hash:
		return fmt.Sprintf("record %d is not the one that the head speaks of", h.Synced.Records), 0
	case r.records < h.Written.Records:
		return "", h.Written.Records - r.records
	case r.passed[h.Written.Records] != h.Written.Hash:
		return fmt.Sprintf("record %d is not the one that the head speaks of", h.Written.Records), 0
	}
	return "", 0
}
