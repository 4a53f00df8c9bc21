package audit

import (
	"io"
	"log/slog"
	"time"
)

// resume goes on where the last writer ended.
func (f *File) resume(in io.Reader, h *head, logger *slog.Logger) error {
	r, err := replayed(in, h.Synced.Records, h.Written.Records)
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
	f.at = head{Written: r.point, Synced: h.Synced}
	f.interrupted = r.interrupted()
	if err := f.mark(r, lost, max(0, r.Records-h.Written.Records)); err != nil {
		return err
	}
	if err := f.endWhatWasOpen(logger); err != nil {
		return err
	}
	return f.sync(all)
}

// mark writes down that the last writer was interrupted.
func (f *File) mark(r *replay, lost, unattested int64) error {
	if r.junk.Len() == 0 && lost == 0 && unattested == 0 {
		return nil
	}
	before := ""
	if r.junk.Len() > 0 {
		before = torn
		r.junk.WriteString(torn)
	}
	left := &found{Bytes: int64(r.junk.Len()), Lost: lost, Unattested: unattested}
	if left.Bytes > 0 {
		left.SHA256 = hashOf(r.junk.Bytes())
	}
	_, err := f.append(before, line{Record: Record{Time: time.Now(), Kind: Recovered}, Found: left})
	return err
}

func (f *File) endWhatWasOpen(logger *slog.Logger) error {
	for _, intent := range f.interrupted {
		end := intent
		end.Time, end.Kind, end.Outcome = time.Now(), End, Unknown
		end.Arguments, end.ArgumentsDigest, end.Decisions, end.Evidence = nil, "", nil, nil
		end.Error = "audit: the process ended before the call did"
		if _, err := f.append("", line{Record: end}); err != nil {
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
