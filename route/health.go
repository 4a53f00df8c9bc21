package route

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

// A state is the health of one replica, learned from calls: several failures or successes in a row change it.
type state struct {
	busy   int       // calls under way
	streak int       // failures in a row while healthy, successes in a row while not
	failed bool      // it gets no call before until, and then one at a time
	until  time.Time // the end of the pause
	pause  time.Duration
}

// trial reports whether a failed replica may have one call to show itself.
func (s *state) trial(at time.Time) bool {
	return s.failed && s.busy == 0 && !at.Before(s.until)
}

// An outcome is what one call shows about the health of its replica.
type outcome uint8

const (
	neutral outcome = iota // nothing
	worked
	failed
)

func judge(ctx context.Context, err error) outcome {
	switch {
	case err == nil:
		return worked
	case errors.Is(ctx.Err(), context.Canceled):
		return neutral // the caller went away
	case middleware.Permanent(err), middleware.Refused(err):
		return neutral // it is there, and said no
	}
	return failed
}

// maxPause is how many times the first pause a pause may become.
const maxPause = 32

// learn records the end of a call, and logs a change of the replica's health.
func (p *Pool) learn(ctx context.Context, m *member, came outcome) {
	p.mu.Lock()
	s := &m.state
	s.busy--
	before := s.failed
	p.update(s, came)
	after, until := s.failed, s.until
	p.mu.Unlock()
	switch {
	case after && !before:
		p.o.Logger.LogAttrs(ctx, slog.LevelWarn, "route: the replica failed", slog.String("server", p.server),
			slog.String("replica", m.ID), slog.Duration("pause", time.Until(until)))
	case before && !after:
		p.o.Logger.LogAttrs(ctx, slog.LevelInfo, "route: the replica is healthy again", slog.String("server", p.server),
			slog.String("replica", m.ID))
	}
}

// update moves one state; the caller holds the mutex.
func (p *Pool) update(s *state, came outcome) {
	switch {
	case came == neutral:
	case came == worked && !s.failed:
		s.streak = 0
	case came == worked:
		if s.streak++; s.streak >= p.o.Successes {
			*s = state{busy: s.busy}
		}
	case !s.failed:
		if s.streak++; s.streak >= p.o.Failures {
			s.failed, s.streak = true, 0
			p.rest(s)
		}
	case !time.Now().Before(s.until): // one that had begun before the pause does not prolong it
		s.streak = 0
		p.rest(s)
	}
}

// rest begins a pause, twice as long as the one before.
func (p *Pool) rest(s *state) {
	if s.pause == 0 {
		s.pause = p.o.Pause
	} else if s.pause/p.o.Pause < maxPause && s.pause <= math.MaxInt64/2 {
		s.pause *= 2
	}
	s.until = time.Now().Add(s.pause)
}
