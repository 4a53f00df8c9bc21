package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// A Checkpoint is where a record was at a time. Its hash covers every record up to there: one that is kept where the
// writers of the record cannot reach it, or signed with a key that they do not have, shows later whether any of these
// records was changed or removed, also if the file and its head were both replaced. See [VerifySince]. Its form in JSON
// has these members.
type Checkpoint struct {
	Time time.Time `json:"time"`
	// File is the name that the file had, for people: it is found by its first record, whatever it is called later.
	File string `json:"file"`
	// First is the hash of the first record.
	First string `json:"first"`
	// Records is how many records there were, and Hash that of the last one.
	Records int64  `json:"records"`
	Hash    string `json:"hash"`
}

// Checkpoint returns where the record is that was verified. It is an error if the record has no records, is damaged, or
// may have lost its end, since a checkpoint would hide that.
func (r *Report) Checkpoint(now time.Time) (Checkpoint, error) {
	switch {
	case r.State == Damaged, r.State == NotAttested:
		return Checkpoint{}, fmt.Errorf("audit: %s is %s (%s); no checkpoint is made of it", r.File, r.State, r.Problem)
	case r.Records == 0:
		return Checkpoint{}, fmt.Errorf("audit: %s has no records yet", r.File)
	}
	return Checkpoint{Time: now.UTC().Truncate(time.Second), File: filepath.Base(r.File), First: r.First, Records: r.Records, Hash: r.Hash}, nil
}

// check returns what a checkpoint lacks, nil if it can be compared.
func (c *Checkpoint) check() error {
	switch {
	case c.Records <= 0:
		return fmt.Errorf("records is %d, want at least 1", c.Records)
	case c.First == "" || c.Hash == "":
		return errors.New("want first and hash, which name the record")
	}
	return nil
}

// VerifySince is [VerifyAll], and compares the files with checkpoints that were made of them before: a file that has no
// longer the records of one is Damaged. The error is also about a checkpoint whose file is not among these, as
// after it was replaced or deleted; the reports are there beside it.
func VerifySince(checkpoints []Checkpoint, names ...string) ([]Report, error) {
	var counts []int64
	for i := range checkpoints {
		if err := checkpoints[i].check(); err != nil {
			return nil, fmt.Errorf("audit: checkpoint %d: %w", i+1, err)
		}
		counts = append(counts, checkpoints[i].Records)
	}
	all, err := verifyAll(counts, names)
	if err != nil {
		return nil, err
	}
	var missing error
	for _, c := range checkpoints {
		at := slices.IndexFunc(all, func(v *verified) bool { return v.replay.first == c.First })
		if at < 0 {
			missing = errors.Join(missing, fmt.Errorf("audit: no file has the first record of %s, of which there is a checkpoint of %s: it was replaced, or is not among these",
				c.File, c.Time.Format(time.RFC3339)))
			continue
		}
		all[at].hold(&c)
	}
	return reportsOf(all), missing
}

// hold compares the file with a checkpoint of it.
func (v *verified) hold(c *Checkpoint) {
	switch at := c.Time.Format(time.RFC3339); {
	case v.Records < c.Records:
		v.wrong(Damaged, fmt.Sprintf("%d records are there and there were %d at the checkpoint of %s", v.Records, c.Records, at))
	case v.replay.passed[c.Records] != c.Hash:
		v.wrong(Damaged, fmt.Sprintf("record %d, or one before it, is not the one of the checkpoint of %s", c.Records, at))
	}
}
