package approvals

// Several processes may have one file open. For each change a process takes the lock of the file, reads the lines that
// others have appended since it last looked, checks the change against them, appends its own line and syncs it. Beside
// the file lies NAME.lock, which each process holds shared for as long as it has the file open. If one gets it
// exclusively while it opens the file, no other process has the file open, and what is open in it can have no caller
// that waits: it is made void.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// File is a store in a file that survives the end of its process: JSON Lines, one
// for each change, each on the disk before the change counts. Several processes may share
// it: each appends under a lock, after what the others have appended.
//
// An open approval is void once the file is opened while no other process has it open, which NAME.lock shows: a
// question has no caller that waits for its answer, and an approval that was not used has expired, except one that
// was given while no call waited (Standing.Once). A file executes nothing. It grows with every question; rotate it by
// starting a new one.
type File struct {
	book

	log         *logfile.File
	in          *os.File // the same, to read what others append
	users       *os.File // locked, shared, by every process that has the file open
	size        int64    // of what was read
	interrupted []Approval
}

// OpenFile opens the store in the file given, and makes it if it is not there. It fails if
// a line other than a last one that was cut off cannot be read. Logger gets a line for each
// approval that was open and is void; nil is silent.
func OpenFile(name string, logger *slog.Logger) (*File, error) {
	return openFile(name, logger, func(f *os.File) logfile.Disk { return f })
}

func openFile(name string, logger *slog.Logger, through func(*os.File) logfile.Disk) (*File, error) {
	log, in, err := logfile.Share(name, through)
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	f := &File{log: log, in: in}
	if f.users, err = os.OpenFile(in.Name()+".lock", os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		err = f.open(logger)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("approvals: %s: %w", name, err), f.Close())
	}
	return f, nil
}

// open replays what was written and, if no other process has it open, ends what was open.
func (f *File) open(logger *slog.Logger) error {
	f.book = newBook(f.append)
	release, err := f.log.Hold()
	if err != nil {
		return err
	}
	defer release()
	f.lock = f.held
	if err := f.read(f.in, true); err != nil {
		return err
	}
	if logfile.TryLock(f.users, true) == nil {
		if err := f.voidWhatWasOpen(logger); err != nil {
			return err
		}
		_ = logfile.Unlock(f.users)
	}
	return logfile.TryLock(f.users, false)
}

// held returns once no other process writes, and has what they have written.
func (f *File) held(writes bool) (release func(), err error) {
	if err := f.log.Err(); err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	release = func() {}
	if writes {
		if release, err = f.log.Hold(); err != nil {
			return nil, err
		}
	}
	if err := f.read(io.NewSectionReader(f.in, f.size, math.MaxInt64-f.size), writes); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// read makes the changes of whole lines. A last line that was cut off is taken away, if
// no other process can be writing it.
func (f *File) read(in io.Reader, alone bool) error {
	cut := false
	for text, err := range logfile.Lines(in) {
		if err != nil {
			return err
		}
		if cut = !bytes.HasSuffix(text, []byte("\n")); cut { // it never counted
			break
		}
		var e entry
		if err = json.Unmarshal(text, &e); err == nil {
			err = f.check(e, time.Time{})
		}
		if err != nil {
			return fmt.Errorf("the line at byte %d is damaged: %w", f.size, err)
		}
		f.size += int64(len(text))
		if e.Op == remembered && !understood(text) {
			continue
		}
		f.apply(e)
	}
	return f.log.Resume(f.size, cut && alone)
}

// understood reports whether a line has no member that is not known: a later version of the program may have written an
// approval with a limit that is not read here, and that approves nothing here.
func understood(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(new(entry)) == nil
}

// voidWhatWasOpen ends each approval whose process has ended, and logs it. A decision that waits for its call stays.
func (f *File) voidWhatWasOpen(logger *slog.Logger) error {
	for _, a := range f.approvals {
		waits := a.State == Approved && time.Now().Before(f.standing[a.Scope][a.ID].Until)
		if a.State.Open() && !waits {
			f.interrupted = append(f.interrupted, a)
		}
	}
	slices.SortFunc(f.interrupted, func(x, y Approval) int { return x.Until.Compare(y.Until) })
	for _, a := range f.interrupted {
		if err := f.make(entry{Op: advanced, ID: a.ID, Change: &Change{To: Void, By: "restart"}}); err != nil {
			return err
		}
		if logger == nil {
			continue
		}
		what := "nothing was sent"
		if a.State == Spent {
			what = "it may or may not have happened: look before it is done again"
		}
		logger.Warn("approvals: interrupted by the end of the process", slog.String("id", a.ID), slog.String("call", a.CallID),
			slog.String("tool", a.Server+"/"+a.Tool), slog.String("scope", a.Scope), slog.String("was", string(a.State)), slog.String("so", what))
	}
	return nil
}

// Interrupted returns what was open when the file was opened and no other process had it
// open, in the state that it had then. The outcome of those that were spent is unknown.
func (f *File) Interrupted() []Approval { return slices.Clone(f.interrupted) }

// append writes an entry as one line, and returns once it is on the disk.
func (f *File) append(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		line = append(line, '\n')
		err = f.log.Append(line)
	}
	if err == nil {
		err = f.log.Sync()
	}
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	f.size += int64(len(line))
	return nil
}

// Close ends the use of the file. An open approval stays open until the file is opened again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = logfile.Leave(f.users) // nothing was written
	return f.log.Close()
}
