package redis

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A said writes a line where a facility begins to fail, and one where it has not failed for a while: what fails now
// and then writes no line for each call.
type said struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]failing // by facility
}

type failing struct {
	kind           string // of the error that was logged; "" if the facility works
	failed, logged time.Time
}

// settled is how long a facility must not fail until it works again, and between two lines about its errors.
const settled = 10 * time.Second

// change takes what became of one operation.
func (s *said) change(ctx context.Context, facility string, err error) {
	kind, now := kindOf(err), time.Now()
	s.mu.Lock()
	f := s.last[facility]
	before := f.kind
	switch {
	case err != nil && before != kind && (before == "" || now.Sub(f.logged) >= settled):
		f = failing{kind, now, now}
	case err != nil:
		f.failed = now
	case before != "" && now.Sub(f.failed) >= settled:
		f.kind = ""
	}
	s.last[facility] = f
	s.mu.Unlock()
	switch {
	case f.kind == before:
	case f.kind == "":
		s.log.LogAttrs(ctx, slog.LevelWarn, "redis: "+facility+" works again", slog.String("before", before))
	default:
		s.log.LogAttrs(ctx, slog.LevelWarn, "redis: "+facility+" does not work", slog.String("kind", kind), slog.Any("err", err))
	}
}
