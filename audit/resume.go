package audit

import (
	"errors"
	"log/slog"
	"time"
)

// resume goes on where the last writer ended. If no other has the file open, it ends what
// was open.
func (f *File) resume(h *head, alone bool, logger *slog.Logger) error {
	r, err := replayed(f.in, h.Synced.Records, h.Written.Records)
	if err != nil {
		return err
	}
	fault, lost := h.disagrees(r)
	if fault != "" {
		return &DamagedError{Reason: fault}
	}
	if err := f.log.Resume(r.size(), false); err != nil {
		return err
	}
	f.chain, f.at = r, head{Written: r.point, Synced: h.Synced}
	if alone {
		f.interrupted = r.interrupted()
	}
	r.open, r.order = nil, nil
	if err := f.mark(lost, max(0, r.Records-h.Written.Records)); err != nil {
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

// mark records that a writer was interrupted.
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

func (f *File) endWhatWasOpen(logger *slog.Logger) error {
	for _, intent := range f.interrupted {
		end := intent
		end.Time, end.Kind, end.Outcome = time.Now(), End, Unknown
		end.Arguments, end.ArgumentsDigest, end.Decisions, end.Evidence = nil, "", nil, nil
		end.Error = "audit: the process ended before the call did"
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

// A DamagedError says that a file is not what was written.
type DamagedError struct{ Reason string }

func (e *DamagedError) Error() string {
	return "it was changed or is incomplete: " + e.Reason + "; keep it and its head as they are, and start a new file"
}
