package audit

import (
	"fmt"
	"path/filepath"
	"slices"
)

// VerifyAll is [Verify] for files that go on after each other. It returns a report of each, by the time of their first
// records, and compares where a later file has it that the earlier one ended with that file:
//
//   - records that are missing between the two make the later one Damaged, with their number;
//   - records that the earlier one has beyond that, and two files that go on after the same one, do so too;
//   - an earlier file without a head is Whole if it ends there, since the later one attests its end. Its Open calls are
//     left out: the later one has them.
//
// If the earlier file is not among them, as when old files are deleted, the state stays and Problem names the gap.
func VerifyAll(names ...string) ([]Report, error) { return VerifySince(nil, names...) }

// verifyAll verifies the files, keeps the hashes after the given numbers of records, and compares the files with each
// other.
func verifyAll(counts []int64, names []string) ([]*verified, error) {
	for _, name := range names {
		if before, err := earlierOf(name); err == nil && before != nil {
			counts = append(counts, before.Records)
		}
	}
	all := make([]*verified, 0, len(names))
	for _, name := range names {
		report, r, err := verify(name, slices.Clone(counts)...)
		if err != nil {
			return nil, err
		}
		all = append(all, &verified{Report: report, replay: r})
	}
	slices.SortStableFunc(all, func(a, b *verified) int { return a.Since.Compare(b.Since) })
	for _, one := range all {
		if one.Before != nil {
			one.link(all)
		}
	}
	return all, nil
}

func reportsOf(all []*verified) []Report {
	reports := make([]Report, 0, len(all))
	for _, one := range all {
		reports = append(reports, one.Report)
	}
	return reports
}

// A verified is a file with what was found about it.
type verified struct {
	Report

	replay *replay
	next   *verified // that goes on after it
}

// link finds the file that v goes on after, and compares the two.
func (v *verified) link(all []*verified) {
	b := v.Before
	earlier := v.earlier(all)
	switch {
	case earlier == nil:
		v.wrong(v.State, fmt.Sprintf("it goes on after %d records of an earlier file, which is not among these", b.Records))
		return
	case earlier.next != nil:
		v.wrong(Damaged, fmt.Sprintf("%s and %s go on after the same file", filepath.Base(earlier.next.File), filepath.Base(v.File)))
		return
	}
	earlier.next = v
	earlier.Open = nil
	name := filepath.Base(earlier.File)
	switch more := earlier.Records - b.Records; {
	case more < 0:
		v.wrong(Damaged, fmt.Sprintf("%d records are missing between %s and this file (%s)", -more, name, b.Why))
	case more > 0 || earlier.replay.passed[b.Records] != b.Hash:
		v.wrong(Damaged, fmt.Sprintf("%s does not end where this file goes on after it, at record %d", name, b.Records))
	case b.Why == repaired:
		v.wrong(v.State, fmt.Sprintf("it goes on after %s, which was put aside: %s", name, b.Problem))
	}
	if earlier.State == NotAttested && earlier.replay.junk.Len() == 0 {
		earlier.State, earlier.Problem = Whole, ""
	}
}

// earlier returns the file that v goes on after, nil for none: the one with that record at that place, or else the
// longest with the same beginning.
func (v *verified) earlier(all []*verified) (found *verified) {
	for _, one := range all {
		switch {
		case one == v || one.replay.first != v.Before.First:
		case one.replay.passed[v.Before.Records] == v.Before.Hash && v.Before.Hash != "":
			return one
		case found == nil || one.Records > found.Records:
			found = one
		}
	}
	return found
}

// wrong adds a problem, and keeps the worse of two states.
func (v *verified) wrong(state State, problem string) {
	if v.Problem != "" {
		problem = v.Problem + "; " + problem
	}
	v.State, v.Problem = min(v.State, state), problem
}
