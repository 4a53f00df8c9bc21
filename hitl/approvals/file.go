package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// File is a store in a file that survives the end of its process: JSON Lines, one
// for each change, each on the disk before the change counts. It has one writer
// at a time.
//
// What was open when the last writer ended is void once the file is opened again:
// a question has nobody who waits for its answer, and an approval that was not used has
// expired. Nothing is executed because of what stands in a file. The file grows
// with every question; rotate it by starting a new one.
type File struct {
	book

	log         *logfile.File
	interrupted []Approval
}

// OpenFile opens the store in the file given, and makes it if it is not there. It
// locks the file until Close or the end of the process, and fails if another process
// holds it, or if a line other than a last one that was cut off cannot be read. Logger
// gets a line for each approval that was open; nil is silent.
func OpenFile(name string, logger *slog.Logger) (*File, error) {
	return openFile(name, logger, func(f *os.File) logfile.Disk { return f })
}

func openFile(name string, logger *slog.Logger, through func(*os.File) logfile.Disk) (*File, error) {
	log, in, err := logfile.Open(name, through)
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	f, err := open(in, log, logger)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("approvals: %s: %w", name, err), log.Close())
	}
	return f, nil
}

// open replays what was written and ends what was open.
func open(in io.Reader, log *logfile.File, logger *slog.Logger) (*File, error) {
	f := &File{log: log}
	f.book = newBook(f.append)
	n, size, cut := 0, int64(0), false
	for text, err := range logfile.Lines(in) {
		if err != nil {
			return nil, err
		}
		if cut = !bytes.HasSuffix(text, []byte("\n")); cut { // nobody was told that it was written
			break
		}
		n++
		size += int64(len(text))
		var e entry
		if err = json.Unmarshal(text, &e); err == nil {
			err = f.check(e, time.Time{})
		}
		if err != nil {
			return nil, fmt.Errorf("line %d is damaged: %w", n, err)
		}
		f.apply(e)
	}
	if err := log.Resume(size, cut); err != nil {
		return nil, err
	}
	return f, f.voidWhatWasOpen(logger)
}

func (f *File) voidWhatWasOpen(logger *slog.Logger) error {
	for _, a := range f.approvals {
		if a.State.Open() {
			f.interrupted = append(f.interrupted, a)
		}
	}
	slices.SortFunc(f.interrupted, func(x, y Approval) int { return x.Until.Compare(y.Until) })
	for _, a := range f.interrupted {
		if err := f.commit(entry{Op: advanced, ID: a.ID, Change: &Change{To: Void, By: "restart"}}); err != nil {
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

// Interrupted returns what was open when the file was opened, in the state that it
// had then. Of those that were spent nobody knows whether they happened.
func (f *File) Interrupted() []Approval { return slices.Clone(f.interrupted) }

// append writes one line and waits until it is on the disk.
func (f *File) append(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		err = f.log.Append(append(line, '\n'))
	}
	if err == nil {
		err = f.log.Sync()
	}
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	return nil
}

// Close lets another process write. What is open stays so until the file is
// opened again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Close()
}
