package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/fairlead-go/fairlead/internal/logfile"
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
	log         *logfile.File
	interrupted []Record

	syncing sync.Mutex // held for a sync; taken before mu

	mu        sync.Mutex
	head      disk
	closeHead func() error
	at        head
}

// A disk is what a File needs of an *os.File.
type disk interface {
	logfile.Disk
	io.WriterAt
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
	log, in, err := logfile.Open(name, func(f *os.File) logfile.Disk { return through(f) })
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	fail := func(err error) (*File, error) {
		return nil, errors.Join(fmt.Errorf("audit: %s: %w", name, err), log.Close())
	}
	found, err := headOf(name, in)
	if err != nil {
		return fail(err)
	}
	heads, err := os.OpenFile(headName(name), os.O_RDWR, 0o600)
	if err != nil {
		return fail(err)
	}
	f := &File{log: log, head: through(heads), closeHead: sync.OnceValue(heads.Close)}
	if err := f.resume(in, found, logger); err != nil {
		return fail(errors.Join(err, heads.Close()))
	}
	return f, nil
}

// Interrupted returns the intents that had no end when the file was opened. Nobody
// knows whether these calls happened.
func (f *File) Interrupted() []Record { return slices.Clone(f.interrupted) }

// Write implements [Sink].
func (f *File) Write(_ context.Context, r Record) error {
	if r.Kind != Intent && r.Kind != End {
		return fmt.Errorf("audit: a sink takes no record of kind %q", r.Kind)
	}
	seq, err := f.append("", line{Record: r})
	if err != nil || !r.Durable {
		return err
	}
	return f.sync(seq)
}

// append writes one line after what ends a torn one, and the head that knows of it.
func (f *File) append(before string, l line) (int64, error) {
	l.Time = l.Time.UTC()
	f.mu.Lock()
	defer f.mu.Unlock()
	l.Seq, l.Prev = f.at.Written.Records+1, f.at.Written.Hash
	text, err := json.Marshal(l)
	if err == nil {
		err = f.log.Append(append(append([]byte(before), text...), '\n'))
	}
	if err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	f.at.Written = point{l.Seq, hashOf(text)}
	return l.Seq, f.writeHead()
}

func (f *File) writeHead() error {
	_, err := f.head.WriteAt(f.at.bytes(), 0)
	return f.headFailed(err)
}

func (f *File) headFailed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("audit: %w", f.log.Break(fmt.Errorf("the head cannot be written; open the file again: %w", err)))
}

// all is more records than any file has.
const all = math.MaxInt64

// sync returns when the record and all before it are on the disk, the records before the
// head. A caller that has waited for another's sync mostly finds its record synced.
func (f *File) sync(seq int64) error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	f.mu.Lock()
	to, done := f.at.Written, f.at.Synced.Records >= seq
	f.mu.Unlock()
	if done && f.log.Err() == nil {
		return nil
	}
	if err := f.log.Sync(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	f.mu.Lock()
	f.at.Synced = to
	err := f.writeHead()
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.headFailed(f.head.Sync())
}

// Close syncs what was written and lets another process write.
func (f *File) Close() error {
	var err error
	if f.log.Err() == nil {
		err = f.sync(all)
	}
	return errors.Join(err, f.log.Close(), f.closeHead())
}
