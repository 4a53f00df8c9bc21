package redis

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An engine that fails and works in turn gives a line where that begins and one where it ends, and not one a call.
func TestLogOfWhatFailsAndWorksInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		s := said{log: slog.New(slog.NewTextHandler(&text, nil)), last: make(map[string]failing)}
		for range 1000 {
			s.change(t.Context(), "cache", errors.New("connection refused"))
			s.change(t.Context(), "cache", nil)
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(settled)
		s.change(t.Context(), "cache", nil)
		s.change(t.Context(), "cache", nil)
		down, up := strings.Count(text.String(), "does not work"), strings.Count(text.String(), "works again")
		if down != 1 || up != 1 {
			t.Errorf("%d lines that it does not work and %d that it works again, want one of each:\n%s", down, up, text.String())
		}
	})
}

// The log and Healthy agree: one late heartbeat is nothing for both, and an outage has a line at its begin and one at its
// end, and an error for whoever asks every two seconds.
func TestHealthAgreesWithTheLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		misses int
		lines  int
	}{
		"one late heartbeat": {1, 0},
		"an outage of 2 s":   {20, 1},
		"one of a minute":    {600, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var text strings.Builder
				s := &Store{
					contacts: newContacts(time.Second), runs: newRuns(),
					said: said{log: slog.New(slog.NewTextHandler(&text, nil)), last: make(map[string]failing)},
				}
				s.contacts.at("")
				asked, errs := 0, 0
				ask := func() {
					if asked++; asked%20 == 0 && s.Healthy(t.Context()) != nil {
						errs++
					}
				}
				for range c.misses {
					s.hear(t.Context(), map[string]error{"": context.DeadlineExceeded})
					time.Sleep(beat)
					ask()
				}
				for range 2 * settled / beat {
					s.hear(t.Context(), map[string]error{"": nil})
					time.Sleep(beat)
					ask()
				}
				down, up := strings.Count(text.String(), "Redis does not work"), strings.Count(text.String(), "Redis works again")
				if down != c.lines || up != c.lines || errs > 0 != (c.lines > 0) {
					t.Errorf("%d lines at the begin, %d at the end and %d errors, want %d lines:\n%s", down, up, errs, c.lines, text.String())
				}
				if err := s.Healthy(t.Context()); err != nil {
					t.Errorf("after the end: %v", err)
				}
			})
		})
	}
}

// A connection whose deadline is that of the caller's context may end before the context does: Redis is not at fault.
func TestDeadlineOfTheCallerIsNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		s := &Store{contacts: newContacts(time.Second), said: said{log: slog.New(slog.NewTextHandler(&text, nil)), last: make(map[string]failing)}}
		for range 3 {
			end, cancel := context.WithDeadline(t.Context(), time.Now())
			own := passed{t.Context(), time.Now()}
			for _, ctx := range []context.Context{end, own} {
				if err := s.ended(ctx, ofBoard, os.ErrDeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			}
			cancel()
			time.Sleep(lasting)
		}
		if text.Len() > 0 {
			t.Errorf("got lines:\n%s", text.String())
		}
	})
}

// A passed context has a deadline whose timer has not run yet.
type passed struct {
	context.Context

	end time.Time
}

func (p passed) Deadline() (time.Time, bool) { return p.end, true }
