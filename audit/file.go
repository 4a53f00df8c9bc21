package audit

import (
	"context"
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

// File is a sink in a file of JSON Lines, one record a line, each with the hash of the one before it. Beside
// it, NAME.head records how far it goes. [Verify] reads both.
//
// A durable record (the intent of a dangerous call or of one that is recorded in full, and their ends) is on
// the disk when Write returns; concurrent ones share one sync. Any other is with the operating system: it
// outlives the process, and perhaps not a loss of power, which the head then shows.
//
// The file only grows, and is read whole when it is opened. [File.Rotate] and [File.Continue] go on in a new one, whose
// first record has where the earlier one ended; [VerifyAll] reads them together.
// Several processes may write to it: each record is appended under a lock, after those of the
// others. Write returns an error after the file or its head was removed or replaced. A File is safe for concurrent
// use; it is made by [OpenFile] and closed by [File.Close].
type File struct {
	log         *logfile.File
	in          *os.File // the same, to read what others append
	interrupted []Record
	inDoubt     []Record

	syncing sync.Mutex // held for a sync; taken before mu

	mu    sync.Mutex
	heads *os.File // locked by every writer, shared, as long as it is at work
	head  disk     // through which it is written
	at    logfile.Head
	chain *replay
}

// A disk is what a File writes a head through.
type disk interface {
	logfile.Disk
	io.WriterAt
}

// OpenFile opens the file, and makes it and its head if neither is there.
//
// It repairs the damage of a process that ended or of a power loss, and adds a record of that: a last line
// that was cut off stays in place, named with its hash. Intents without an end are closed as Unknown, and
// logged at level Warn (nil is silent), unless another process has the file open, which may still make those
// calls; see [File.InDoubt]. Other damage, such as a changed record, a missing end or a missing head, is
// an error: keep both files as they are, and start a new one.
func OpenFile(name string, logger *slog.Logger) (*File, error) {
	return openFile(name, logger, asIs, true)
}

func asIs(f *os.File) disk { return f }

// openFile opens the file. If it may be alone, and is, the calls without an end are those of a process that has ended.
func openFile(name string, logger *slog.Logger, through func(*os.File) disk, mayBeAlone bool) (*File, error) {
	if err := finishRotation(name); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	log, in, err := logfile.Share(name, func(f *os.File) logfile.Disk { return through(f) })
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	f := &File{log: log, in: in}
	if err := f.open(logger, through, mayBeAlone); err != nil {
		if f.heads != nil {
			_ = logfile.Leave(f.heads)
		}
		return nil, errors.Join(fmt.Errorf("audit: %s: %w", name, err), log.Close())
	}
	return f, nil
}

// InDoubt returns the intents of the calls with an unknown outcome that were not settled when the file was
// opened: those that ended as Unknown, and all that had no end. The latter may be in flight in another process
// that has the file open. They are for the ledger of package doubt.
func (f *File) InDoubt() []Record { return slices.Clone(f.inDoubt) }

// Write appends an [Intent] or an [End], and returns once it is with the operating system, or on the disk if it is
// durable. It waits for other writers for at most 10 seconds. After an error that leaves the file in doubt, such as a
// failed sync, every later call fails; open the file again.
func (f *File) Write(_ context.Context, r Record) error {
	if r.Kind != Intent && r.Kind != End {
		return fmt.Errorf("audit: a sink does not accept records of kind %q", r.Kind)
	}
	var seq int64
	err := f.locked(func() (err error) {
		seq, err = f.put("", line{Record: r})
		return err
	})
	if err == nil && r.Durable {
		err = f.sync(seq)
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// locked calls do under the lock of all writers, after reading the records of others.
func (f *File) locked(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.log.Err(); err != nil {
		return err
	}
	release, err := f.log.Hold()
	if err != nil {
		return err
	}
	defer release()
	if err := f.catchUp(); err != nil {
		return err
	}
	return do()
}

// catchUp reads the records that other processes have appended since this one wrote last, so that the next one
// follows them in number and hash. The caller holds the lock of all writers.
func (f *File) catchUp() error {
	info, err := f.in.Stat()
	if err != nil {
		return err
	}
	from := f.chain.size()
	switch {
	case info.Size() == from:
		return nil
	case info.Size() < from:
		return f.log.Break(damaged("its end is missing"))
	}
	if err := f.chain.read(io.NewSectionReader(f.in, from, info.Size()-from)); err != nil {
		return err
	}
	if f.chain.fault != "" {
		return f.log.Break(damaged(f.chain.fault))
	}
	h, err := logfile.ReadHead(f.in.Name())
	if err != nil {
		return err
	}
	if h != nil && h.Synced.Records > f.at.Synced.Records {
		f.at.Synced = h.Synced
	}
	f.at.Written = f.chain.point()
	if err := f.log.Resume(f.chain.size(), false); err != nil {
		return err
	}
	return f.mark(0, 0)
}

// put writes one line, after ending a torn one, and then the head. The caller holds the lock of all writers.
func (f *File) put(before string, l line) (int64, error) {
	l.Time = l.Time.UTC()
	l.Seq, l.Prev = f.chain.records+1, string(f.chain.hash)
	text, err := encodeLine(l)
	if err == nil {
		err = logfile.Present(f.heads)
	}
	if err == nil {
		err = f.log.Append(append(append([]byte(before), text...), '\n'))
	}
	if err != nil {
		return 0, err
	}
	f.chain.accept(text, &l)
	f.at.Written = f.chain.point()
	return l.Seq, f.writeHead()
}

func (f *File) writeHead() error {
	_, err := f.head.WriteAt(f.at.Bytes(), 0)
	return f.headFailed(err)
}

func (f *File) headFailed(err error) error {
	if err == nil {
		return nil
	}
	return f.log.Break(fmt.Errorf("the head cannot be written; open the file again: %w", err))
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
		return err
	}
	err := f.locked(func() error {
		if f.at.Synced.Records < to.Records {
			f.at.Synced = to
		}
		return f.writeHead()
	})
	if err != nil {
		return err
	}
	return f.headFailed(f.head.Sync())
}

// Close syncs what was written.
func (f *File) Close() error {
	closed := errors.Is(f.log.Err(), logfile.ErrClosed)
	var err error
	if f.log.Err() == nil {
		err = f.sync(all)
	}
	if err = errors.Join(err, f.log.Close()); !closed {
		err = errors.Join(err, logfile.Leave(f.heads))
	}
	return err
}

// damaged is the error about a file that differs from what was written.
func damaged(how string) error {
	return fmt.Errorf("it was changed or is incomplete: %s; keep it and its head as they are, and start a new file", how)
}
