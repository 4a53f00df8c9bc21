package audit

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// open reads the file and takes its place among the writers. Each holds a shared lock on the head as long as it has
// the file open, so the one that gets it exclusively is alone: only then have the intents without an end lost
// their process, and are ended here. Another that opens the file meanwhile waits for the lock of the log.
func (f *File) open(logger *slog.Logger, through func(*os.File) disk, mayBeAlone bool) error {
	release, err := f.log.Hold()
	if err != nil {
		return err
	}
	defer release()
	found, err := logfile.HeadOf(f.in)
	switch {
	case errors.Is(err, logfile.ErrHead) || errors.Is(err, logfile.ErrNoHead):
		return damaged(err.Error())
	case err != nil:
		return err
	}
	if f.heads, err = os.OpenFile(logfile.HeadName(f.in.Name()), os.O_RDWR, 0o600); err != nil {
		return err
	}
	f.head = through(f.heads)
	alone := mayBeAlone && logfile.TryLock(f.heads, true) == nil
	if err := f.resume(found, alone, logger); err != nil {
		return err
	}
	if alone {
		_ = logfile.Unlock(f.heads)
	}
	return logfile.TryLock(f.heads, false)
}

// resume continues after the last writer. If no other has the file open, it ends the open intents.
func (f *File) resume(h *logfile.Head, alone bool, logger *slog.Logger) error {
	r, err := replayed(f.in, h.Synced.Records, h.Written.Records)
	if err != nil {
		return err
	}
	if r.takesOver(h) {
		h = new(logfile.Head) // its own was not written yet
	}
	fault, lost := disagrees(h, r)
	if fault != "" {
		return damaged(fault)
	}
	if err := f.log.Resume(r.size(), false); err != nil {
		return err
	}
	f.chain, f.at = r, logfile.Head{Written: r.point(), Synced: h.Synced}
	open := r.interrupted()
	if alone {
		f.interrupted = open
	}
	f.inDoubt = slices.Concat(r.inDoubt, open)
	if err := f.mark(lost, max(0, r.records-h.Written.Records)); err != nil {
		return err
	}
	if err := f.endWhatWasOpen(logger); err != nil {
		return err
	}
	if err := f.log.Sync(); err != nil {
		return err
	}
	f.at.Synced = f.at.Written
	return errors.Join(f.writeHead(), f.headFailed(f.head.Sync()))
}

// mark records what an interrupted writer has left: a line that was cut off, records that the head promised but the
// disk has lost, and records that the head does not attest. Without such damage it writes nothing.
func (f *File) mark(lost, unattested int64) error {
	r := f.chain
	if r.junk.Len() == 0 && lost == 0 && unattested == 0 {
		return nil
	}
	before, left := "", &found{Lost: lost, Unattested: unattested}
	if n := r.junk.Len(); n > 0 {
		before = torn
		r.junk.WriteString(torn)
		left.Bytes, left.SHA256 = int64(r.junk.Len()), hashOf(r.junk.Bytes())
		defer func() {
			if r.junk.Len() > 0 { // it was not written
				r.junk.Truncate(n)
			}
		}()
	}
	_, err := f.put(before, line{Record: Record{Time: time.Now(), Kind: Recovered}, Found: left})
	return err
}

// unknownEnd returns the end of a call whose outcome nobody knows.
func unknownEnd(intent Record, why string) Record {
	end := intent
	end.Time, end.Kind, end.Outcome, end.Error = time.Now(), End, Unknown, why
	end.Arguments, end.ArgumentsDigest, end.Decisions, end.Evidence = nil, "", nil, nil
	return end
}

// endWhatWasOpen ends the calls that were interrupted, as Unknown.
func (f *File) endWhatWasOpen(logger *slog.Logger) error {
	for _, intent := range f.interrupted {
		end := unknownEnd(intent, "audit: the process ended before the call did")
		if _, err := f.put("", line{Record: end}); err != nil {
			return err
		}
		if logger != nil {
			logger.Warn("audit: the outcome of a call is unknown, since the process ended before it", slog.String("call", intent.Call),
				slog.String("tool", intent.Server+"/"+intent.Tool), slog.String("scope", intent.Scope), slog.String("class", intent.Class),
				slog.Time("at", intent.Time), slog.String("so", "look whether it happened before it is done again"))
		}
	}
	return nil
}
