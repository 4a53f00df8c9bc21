package redis

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A said writes a line where a facility begins to fail, and one where it has not failed for a while: what fails now
// and then writes no line for each call. One operation without an answer is not yet a trouble, see [lasting].
type said struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]failing // by facility; without those that work
}

type failing struct {
	kind                  string // of the error that was logged; "" if none was
	first, failed, logged time.Time
}

const (
	// settled is how long a facility must not fail until it works again, and between two lines about its errors.
	settled = 10 * time.Second
	// lasting is how long after the first error without an answer another has to come until there is a line: one late
	// heartbeat, or all operations of one pause of the machine, do not count as an outage. What Redis answers has a line at once.
	lasting = time.Second
	// recent is how long [Store.Healthy] returns an error after the last one, so that who asks every two seconds learns of
	// each outage that has a line.
	recent = 3 * time.Second
)

// change takes what became of one operation.
func (s *said) change(ctx context.Context, facility string, err error) {
	kind, now := kindOf(err), time.Now()
	s.mu.Lock()
	f := s.last[facility]
	before := f.kind
	switch {
	case err != nil:
		if f.first.IsZero() {
			f.first = now
		}
		f.failed = now
		begins := before == "" && (isAnswer(err) || now.Sub(f.first) >= lasting)
		if begins || before != "" && before != kind && isAnswer(err) && now.Sub(f.logged) >= settled {
			f.kind, f.logged = kind, now
		}
		s.last[facility] = f
	case now.Sub(f.failed) >= settled:
		f.kind = ""
		delete(s.last, facility)
	}
	s.mu.Unlock()
	switch {
	case f.kind == before:
	case f.kind == "":
		s.log.LogAttrs(ctx, slog.LevelWarn, "redis: "+facility+" works again", slog.String("before", before))
	default:
		s.log.LogAttrs(ctx, slog.LevelWarn, "redis: "+facility+" does not work", slog.String("kind", kind), slog.Any("err", err))
	}
}

// fails reports whether there was a line that a facility does not work, and it has failed recently.
func (s *said) fails(facility string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.last[facility]
	return f.kind != "" && time.Since(f.failed) < recent
}
