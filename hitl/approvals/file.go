package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/fairlead-go/fairlead/internal/filelock"
)

// File is a store in a file that survives the end of its process: JSON Lines, one
// for each change, each on the disk before the change counts. It has one writer
// at a time.
//
// What was open when the last writer ended is void once the file is opened again:
// a question has nobody who waits for its answer, and a yes that was not used has
// expired. Nothing is executed because of what stands in a file. The file grows
// with every question; rotate it by starting a new one.
type File struct {
	ledger

	out         sink
	size        int64 // of what was written in full
	broken      error // why nothing can be written any more
	interrupted []Approval
	close       func() error
}

// A sink is what a File needs of an *os.File.
type sink interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
}

// OpenFile opens the store in the file given, and makes it if it is not there. It
// locks the file until Close or the end of the process, and fails where another
// process holds it, or where a line other than a last one that was cut off cannot
// be read. Logger gets a line for each approval that was open; nil is silent.
func OpenFile(name string, logger *slog.Logger) (*File, error) {
	return openFile(name, logger, func(f *os.File) sink { return f })
}

func openFile(name string, logger *slog.Logger, through func(*os.File) sink) (*File, error) {
	out, giveBack, err := filelock.Open(name)
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	raw, err := io.ReadAll(out)
	var f *File
	if err == nil {
		f, err = open(raw, through(out), logger)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("approvals: %s: %w", name, err), giveBack())
	}
	f.close = giveBack
	return f, nil
}

// open replays what was written and ends what was open.
func open(raw []byte, out sink, logger *slog.Logger) (*File, error) {
	f := &File{ledger: ledger{book: newBook()}, out: out, close: func() error { return nil }}
	f.write = f.append
	for n := 1; len(raw) > 0; n++ {
		end := bytes.IndexByte(raw, '\n')
		if end < 0 { // cut off in the middle: nobody was told that it was written
			if err := out.Truncate(f.size); err != nil {
				return nil, err
			}
			break
		}
		var e entry
		err := json.Unmarshal(raw[:end], &e)
		if err == nil {
			err = f.book.legal(e)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d is damaged: %w", n, err)
		}
		f.book.apply(e)
		f.size += int64(end) + 1
		raw = raw[end+1:]
	}
	return f, f.voidWhatWasOpen(logger)
}

func (f *File) voidWhatWasOpen(logger *slog.Logger) error {
	f.interrupted = f.book.open()
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
func (f *File) Interrupted() []Approval { return append([]Approval(nil), f.interrupted...) }

// append writes one line and waits until it is on the disk. Where that fails, the
// part that was written is taken back; where that fails too, or the disk gave no
// word, nothing is written any more.
func (f *File) append(e entry) error {
	if f.broken != nil {
		return f.broken
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	line = append(line, '\n')
	if _, err := f.out.Write(line); err != nil {
		if undo := f.out.Truncate(f.size); undo != nil {
			f.broken = fmt.Errorf("approvals: the file is broken; open it again: %w", errors.Join(err, undo))
		}
		return fmt.Errorf("approvals: %w", err)
	}
	if err := f.out.Sync(); err != nil {
		f.broken = fmt.Errorf("approvals: the disk did not take a line; open the file again: %w", err)
		return f.broken
	}
	f.size += int64(len(line))
	return nil
}

// Close lets another process write. What is open stays so until the file is
// opened again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.broken, errClosed) {
		return nil
	}
	f.broken = errClosed
	return f.close()
}

var errClosed = errors.New("approvals: the file is closed")
