package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/fairlead-go/fairlead/internal/filelock"
)

// File is a sink in a file of JSON Lines, one record a line, each with the hash of
// the one before it. Beside it, in NAME.head, stands how far it goes. [Verify] reads
// both.
//
// A durable record (the intent of a dangerous call, and of one that is recorded in
// full, and their ends) is on the disk when Write returns; those that wait at the
// same time share one sync. Any other is with the operating system: it outlives the
// process, and perhaps not a loss of power, which the head then shows.
//
// The file only grows, and is read whole when it is opened; rotate it by starting a
// new one. It has one writer at a time.
type File struct {
	close       func() error
	interrupted []Record

	syncing sync.Mutex // held for a sync; taken before mu

	mu     sync.Mutex
	out    disk
	head   disk
	size   int64 // of what was written in full
	at     head
	broken error // why nothing can be written any more
}

// A disk is what a File needs of an *os.File.
type disk interface {
	io.Writer
	io.WriterAt
	Sync() error
	Truncate(size int64) error
}

// OpenFile opens the file, and makes it and its head if neither is there. It locks
// the file until Close or the end of the process, and fails where another process
// holds it.
//
// What the end of a process, or a loss of power, may leave behind is mended and
// marked with a record: a last line that was cut off stays where it is, named with
// its hash. Calls that were about to be made are closed as Unknown, and logged at
// level Warn (nil is silent); see [File.Interrupted]. What no such end leaves behind,
// such as a changed record, a missing end or a missing head, is an error: keep both
// files as they are, and start a new one.
func OpenFile(name string, logger *slog.Logger) (*File, error) {
	return openFile(name, logger, func(f *os.File) disk { return f })
}

func openFile(name string, logger *slog.Logger, through func(*os.File) disk) (*File, error) {
	out, giveBack, err := filelock.Open(name)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	fail := func(err error) (*File, error) {
		return nil, errors.Join(fmt.Errorf("audit: %s: %w", name, err), giveBack())
	}
	found, err := headOf(name, out)
	if err != nil {
		return fail(err)
	}
	heads, err := os.OpenFile(headName(name), os.O_RDWR, 0o600)
	if err != nil {
		return fail(err)
	}
	f := &File{out: through(out), head: through(heads)}
	if err := f.resume(out, found, logger); err != nil {
		return fail(errors.Join(err, heads.Close()))
	}
	f.close = func() error { return errors.Join(giveBack(), heads.Close()) }
	return f, nil
}

// Interrupted returns the intents that had no end when the file was opened. Nobody
// knows whether these calls happened.
func (f *File) Interrupted() []Record { return append([]Record(nil), f.interrupted...) }

// Write implements [Sink].
func (f *File) Write(_ context.Context, r Record) error {
	if r.Kind != Intent && r.Kind != End {
		return fmt.Errorf("audit: a sink takes no record of kind %q", r.Kind)
	}
	seq, err := f.append(line{Record: r})
	if err != nil || !r.Durable {
		return err
	}
	return f.sync(seq)
}

// append writes one line, and the head that knows of it.
func (f *File) append(l line) (int64, error) { return f.appendAfter("", l) }

func (f *File) appendAfter(before string, l line) (int64, error) {
	l.Time = l.Time.UTC()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return 0, f.broken
	}
	l.Seq, l.Prev = f.at.Written.Records+1, f.at.Written.Hash
	text, err := json.Marshal(l)
	if err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	whole := append(append([]byte(before), text...), '\n')
	if _, err := f.out.Write(whole); err != nil {
		if undo := f.out.Truncate(f.size); undo != nil {
			f.broken = fmt.Errorf("audit: the file is broken; open it again: %w", errors.Join(err, undo))
		}
		return 0, fmt.Errorf("audit: %w", err)
	}
	f.size += int64(len(whole))
	f.at.Written = point{l.Seq, hashOf(text)}
	return l.Seq, f.writeHead()
}

func (f *File) writeHead() error {
	if _, err := f.head.WriteAt(f.at.bytes(), 0); err != nil {
		f.broken = fmt.Errorf("audit: the head cannot be written; open the file again: %w", err)
	}
	return f.broken
}

// sync returns when the record and all before it are on the disk. Whoever has waited
// for another's sync mostly finds that it took their record along.
func (f *File) sync(seq int64) error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	f.mu.Lock()
	broken, done := f.broken, f.at.Synced.Records >= seq
	f.mu.Unlock()
	if done || broken != nil {
		return broken
	}
	return f.syncNow()
}

// syncNow takes all that is written to the disk, the records before the head.
func (f *File) syncNow() error {
	f.mu.Lock()
	to := f.at.Written
	f.mu.Unlock()
	err := f.out.Sync()
	f.mu.Lock()
	if err == nil {
		f.at.Synced = to
		err = f.writeHead()
	}
	f.mu.Unlock()
	if err == nil {
		err = f.head.Sync()
	}
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.broken = fmt.Errorf("audit: the disk did not take a record; open the file again: %w", err)
		return f.broken
	}
	return nil
}

// Close syncs what was written and lets another process write.
func (f *File) Close() error {
	f.mu.Lock()
	last, broken := f.at.Written.Records, f.broken
	f.mu.Unlock()
	if errors.Is(broken, errClosed) {
		return nil
	}
	var err error
	if broken == nil {
		err = f.sync(last)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.broken, errClosed) {
		return nil
	}
	f.broken = errClosed
	return errors.Join(err, f.close())
}

var errClosed = errors.New("audit: the file is closed")
