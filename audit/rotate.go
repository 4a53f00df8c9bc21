package audit

// A record may go on in another file. The first line of each later file is a Continued one, which has where the earlier
// file ended: how many records it had, the hash of the last one, and that of the first, which names the file
// whatever it is called now. The hashes of all files are therefore one chain: whoever keeps the last hash elsewhere
// sees a change of any of them.
//
// After that line come the calls that had no end in the earlier file, and those in doubt, as they were there. The later
// file is thus complete by itself: their ends are in it, and a start looks in no other file for what is in doubt.
//
// The new file is made under the name with .next, and gets its own name when it is whole. Its head comes last. If
// the process ends in between, the next start finishes: see finishRotation and takesOver.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// Why a record goes on in another file.
const (
	rotated   = "rotated"   // by [File.Rotate]
	renamed   = "renamed"   // by another program
	truncated = "truncated" // by another program, which has copied the file before
	repaired  = "repaired"  // by [Repair]
)

// An Earlier is where the file before another one ended.
type Earlier struct {
	Records int64  `json:"records"` // that it had, as far as its writer knew
	Hash    string `json:"hash"`    // of the last of these
	First   string `json:"first"`   // of the first one, "" for none
	Why     string `json:"why"`     // rotated, renamed, truncated or repaired
	File    string `json:"file,omitempty"`
	// Problem is what [Verify] found about the earlier file when [Repair] put it aside.
	Problem string `json:"problem,omitempty"`
}

func nextName(name string) string { return filepath.Clean(name) + ".next" }

// errNotRotated is returned by [File.Continue] if the file is still where it was.
var errNotRotated = errors.New("audit: the file was neither renamed nor emptied")

// Size returns how many bytes the file has.
func (f *File) Size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.chain.size()
}

// Since returns when the first record of the file was written, the zero time for an empty file.
func (f *File) Since() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.chain.since
}

// Rotate gives the file and its head another name, in the same folder, and goes on in a new one under the old name. The
// receiver is closed and cannot be used afterwards, unless there is an error; then it goes on as before.
func (f *File) Rotate(to string, logger *slog.Logger) (*File, error) {
	if filepath.Dir(filepath.Clean(to)) != filepath.Dir(filepath.Clean(f.in.Name())) && filepath.Base(to) != to {
		return nil, fmt.Errorf("audit: %s is in another folder than the file; only a name in the same one can be given", to)
	}
	to = filepath.Join(filepath.Dir(f.in.Name()), filepath.Base(to))
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("audit: %s is there already", to)
	}
	return f.goOn(rotated, to, logger)
}

// Continue goes on in the file that has the name now, after another program has renamed this one, or has copied and
// then emptied it. Records that were written between the copy and that moment are in neither file: the new one has how
// many there were, and [VerifyAll] reports the difference. The receiver is closed, unless there is an error. If another
// process has made the next file, that one is opened. If the file is where it was, it is opened again. If it is refused
// then, and this one takes no records any more either, [Repair] can be used as if it was closed; call Continue again
// afterwards.
//
// Call it when a person or a program asks for it, as by SIGHUP, and not after a failed write: a file that somebody has
// emptied looks the same.
func (f *File) Continue(logger *slog.Logger) (*File, error) {
	name := f.in.Name()
	if next, err := f.Follow(logger); err == nil || !errors.Is(err, errNotRotated) {
		return next, err
	}
	info, err := os.Stat(name)
	ours, statErr := f.in.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.goOn(renamed, "", logger)
	case err != nil || statErr != nil:
		return nil, fmt.Errorf("audit: %w", errors.Join(err, statErr))
	case info.Size() == 0 && os.SameFile(info, ours) && f.Size() > 0:
		return f.goOn(truncated, "", logger)
	case info.Size() == 0 && !os.SameFile(info, ours):
		return f.goOn(renamed, "", logger)
	}
	next, err := OpenFile(name, logger)
	if err != nil {
		f.letGo(err)
		return nil, err
	}
	return next, f.Close()
}

// letGo ends all writing after the file that has the name now was refused, if this one takes no records either, since it
// was replaced or cut off. Then [Repair] can put the other one aside before this process ends, and Continue goes on after it.
func (f *File) letGo(refused error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.in.Stat()
	if err == nil && info.Size() >= f.chain.size() && logfile.Present(f.in) == nil && logfile.Present(f.heads) == nil {
		return // it goes on
	}
	_ = f.log.Break(refused)
	_ = logfile.Unlock(f.heads)
}

// Follow opens the file that has the name now, if another process has made it to go on after this one. It returns an
// error if that is not so, and the receiver stays as it was.
func (f *File) Follow(logger *slog.Logger) (*File, error) {
	name := f.in.Name()
	if logfile.Present(f.in) == nil {
		return nil, errNotRotated
	}
	before, err := earlierOf(name)
	if err != nil || before == nil {
		return nil, errors.Join(errNotRotated, err)
	}
	f.mu.Lock()
	err = f.readOn()
	ours := f.chain.point()
	f.mu.Unlock()
	if err != nil || (logfile.Point{Records: before.Records, Hash: before.Hash}) != ours {
		return nil, errors.Join(errNotRotated, err)
	}
	next, err := openFile(name, logger, asIs, false)
	if err != nil {
		return nil, err
	}
	_ = f.Close() // its last records are in the next file's first one
	return next, nil
}

// readOn reads what other writers have appended to the file that this one has open. The caller holds f.mu.
func (f *File) readOn() error {
	info, err := f.in.Stat()
	if from := f.chain.size(); err == nil && info.Size() > from {
		err = f.chain.read(io.NewSectionReader(f.in, from, info.Size()-from))
	}
	return err
}

// goOn makes the next file, and closes this one. To is the new name of this one, "" if another program moved it.
func (f *File) goOn(why, to string, logger *slog.Logger) (*File, error) {
	name := f.in.Name()
	if err := f.handOver(name, why, to); err != nil {
		return nil, fmt.Errorf("audit: %s: %w", name, err)
	}
	next, err := openFile(name, logger, asIs, false)
	if err != nil {
		return nil, err
	}
	_ = f.Close() // what it held is on the disk
	return next, nil
}

// handOver writes the next file and gives it the name.
func (f *File) handOver(name, why, to string) error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	release, err := f.log.Hold()
	if err != nil {
		return err
	}
	defer release()
	switch {
	case why == rotated:
		if err := errors.Join(f.log.Err(), logfile.Present(f.in), f.catchUp()); err != nil {
			return err
		}
	case why == renamed:
		if err := f.readOn(); err != nil {
			return err
		}
	}
	if f.log.Err() == nil {
		if err := f.log.Sync(); err != nil {
			return err
		}
	}
	before := Earlier{Records: f.chain.records, Hash: string(f.chain.hash), First: f.chain.first, Why: why}
	if h, err := logfile.ReadHead(name); err == nil && h != nil && h.Written.Records > before.Records && why == truncated {
		before.Records, before.Hash = h.Written.Records, h.Written.Hash // another process had written more
	}
	if to != "" {
		before.File = filepath.Base(to)
		f.at.Written, f.at.Synced = f.chain.point(), f.chain.point()
		if err := os.WriteFile(logfile.HeadName(to), f.at.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return place(name, to, before, f.chain)
}

// place writes the file that goes on after an earlier one, and gives it its name, and the earlier one that of to.
func place(name, to string, before Earlier, of *replay) error {
	made := &replay{}
	text, err := made.lines(before, of)
	if err != nil {
		return err
	}
	if err := logfile.WriteWhole(nextName(name), text); err != nil {
		return err
	}
	if to != "" {
		if err := os.Rename(name, to); err != nil {
			return err
		}
	}
	if err := os.Rename(nextName(name), name); err != nil {
		return err
	}
	return logfile.Replace(name, logfile.Head{Written: made.point(), Synced: made.point()})
}

// lines are those that a file begins with: where the earlier one ended, and what was open or in doubt in it.
func (r *replay) lines(before Earlier, of *replay) (all []byte, err error) {
	add := func(one Record, before *Earlier) {
		l := line{Seq: r.records + 1, Prev: string(r.hash), Record: one, Before: before}
		l.Time = l.Time.UTC()
		text, failed := encodeLine(l)
		err = errors.Join(err, failed)
		all = append(append(all, text...), '\n')
		r.accept(text, &l)
	}
	add(Record{Time: time.Now(), Kind: Continued}, &before)
	if of == nil {
		return all, err
	}
	for _, intent := range of.inDoubt {
		add(intent, nil)
		end := unknownEnd(intent, "audit: the outcome was unknown in the file before this one")
		add(end, nil)
	}
	for _, intent := range of.interrupted() {
		add(intent, nil)
	}
	return all, err
}

// earlierOf returns what the first line of a file has about the one before it, nil for nothing.
func earlierOf(name string) (*Earlier, error) {
	in, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	r := &replay{}
	for text, err := range logfile.Lines(in) {
		if err != nil {
			return nil, err
		}
		r.take(text)
		break
	}
	return r.before, nil
}

// finishRotation gives a file that was made to go on after another its name, if the process ended before it could.
func finishRotation(name string) error {
	info, err := os.Stat(name)
	if err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was moved, or opening it reports the error
	}
	before, err := earlierOf(nextName(name))
	h, headErr := logfile.ReadHead(name)
	if err != nil || headErr != nil || before == nil || h == nil || h.Written.Records != before.Records || h.Written.Hash != before.Hash {
		return nil //nolint:nilerr // nothing was begun
	}
	return os.Rename(nextName(name), name)
}

// takesOver reports whether a head is that of the file before this one, since the process ended before it was replaced.
func (r *replay) takesOver(h *logfile.Head) bool {
	return r.before != nil && h.Written.Records == r.before.Records && h.Written.Hash == r.before.Hash
}

// Repair puts a file that [OpenFile] refuses aside, with its head, and begins a new one in its place, which has where the
// old one ended and what was wrong with it. Nothing is deleted or changed. Aside is the new name of the old file. It
// returns an error for a file that can be opened, and for one that another process writes to.
func Repair(name string, now time.Time) (aside string, before Earlier, err error) {
	found, err := Verify(name)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing:
		found.Problem = "the file is not there, and its head is"
	case err != nil:
		return "", before, err
	case found.State == Whole || found.State == Interrupted:
		return "", before, fmt.Errorf("audit: %s is %s: there is nothing to repair", name, found.State)
	}
	h, headErr := logfile.ReadHead(name)
	if missing && h == nil && headErr == nil {
		return "", before, fmt.Errorf("audit: %s: neither the file nor its head is there", name)
	}
	if heads, err := os.OpenFile(logfile.HeadName(name), os.O_RDWR, 0o600); err == nil {
		defer func() { _ = logfile.Leave(heads) }()
		if logfile.TryLock(heads, true) != nil {
			return "", before, fmt.Errorf("audit: another process has %s open; end it first", name)
		}
	}
	before = Earlier{Records: found.Records, Hash: found.Hash, Why: repaired, Problem: found.Problem}
	if h != nil && h.Written.Records > before.Records {
		before.Records, before.Hash = h.Written.Records, h.Written.Hash
	}
	of := &replay{}
	if !missing {
		aside = fmt.Sprintf("%s.aside-%s", filepath.Clean(name), now.UTC().Format("20060102T150405Z"))
		before.File = filepath.Base(aside)
		in, err := os.Open(filepath.Clean(name))
		if err != nil {
			return "", before, fmt.Errorf("audit: %w", err)
		}
		of, err = replayed(in)
		_ = in.Close()
		if err != nil {
			return "", before, fmt.Errorf("audit: %w", err)
		}
		before.First = of.first
		of.fault = ""
		if err := copyHead(name, aside); err != nil {
			return "", before, fmt.Errorf("audit: %w", err)
		}
	}
	of.inDoubt = append(of.inDoubt, of.interrupted()...) // their process has ended
	of.open = nil
	if err := place(name, aside, before, of); err != nil {
		return "", before, fmt.Errorf("audit: %w", err)
	}
	return aside, before, nil
}

func copyHead(from, to string) error {
	text, err := os.ReadFile(logfile.HeadName(from))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.WriteFile(logfile.HeadName(to), text, 0o600) //nolint:gosec // the operator names the file
	}
	return err
}
