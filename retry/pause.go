package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// Pauses are the times until which servers want no calls of a tool. They belong to the tool, so that a call that comes
// in the meantime waits as well as those that were turned away.
type pauses struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// note notes the pause that an error asks for. One that the host's own limiter asks for is not the server's.
func (p *pauses) note(tool *middleware.Tool, err error) {
	after, asked := middleware.RetryAfter(err)
	if !asked || tool == nil || middleware.NotSent(err) {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, until := range p.until {
		if !until.After(now) {
			delete(p.until, name)
		}
	}
	if until := now.Add(after); until.After(p.until[tool.String()]) {
		p.until[tool.String()] = until
	}
}

// left returns how long the pause of a tool still is, 0 if there is none.
func (p *pauses) left(tool *middleware.Tool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if tool == nil || len(p.until) == 0 {
		return 0
	}
	return max(time.Until(p.until[tool.String()]), 0)
}

// A PausedError is the end of a call that was not sent, since the server wants none of the tool for longer than the call
// may wait.
type PausedError struct {
	Tool *middleware.Tool
	Wait time.Duration // until calls are taken again

	of *pauses
}

// Paused returns a [*PausedError] during a pause of the tool, and nil otherwise.
func (p *pauses) Paused(tool *middleware.Tool) error {
	if left := p.left(tool); left > 0 {
		return &PausedError{Tool: tool, Wait: left, of: p}
	}
	return nil
}

// refused reports whether a pause of these kept a call from being sent.
func (p *pauses) refused(err error) bool {
	paused, ok := errors.AsType[*PausedError](err)
	return ok && paused.of == p
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("retry: %s was not called, since its server asked for a pause, which lasts %v more; call it again after that", e.Tool, rounded(e.Wait))
}

// NotSent reports that the call was not sent.
func (e *PausedError) NotSent() bool { return true }

// ForModel returns when the tool can be called again.
func (e *PausedError) ForModel() string {
	return fmt.Sprintf("%s was not called: its server asked for a pause. Call it again after %v, use another tool, or tell the user.", e.Tool.ModelName(), rounded(e.Wait))
}

// RetryAfter returns how long calling again is of no use.
func (e *PausedError) RetryAfter() time.Duration { return e.Wait }

// rounded returns a wait in whole seconds, not less than it is.
func rounded(wait time.Duration) time.Duration {
	return max(fault.RoundUp(wait, time.Second), time.Second)
}

// pause waits until the tool's pause is over, if the call may wait that long. It returns an error of a call that was not
// sent, or nil.
func (r *retrier) pause(ctx context.Context, tool *middleware.Tool) error {
	for {
		left := r.pauses.left(tool)
		if left == 0 {
			return nil
		}
		wait, ok := r.fits(ctx, left, r.spread(left))
		if !ok {
			return &PausedError{Tool: tool, Wait: left, of: r.pauses}
		}
		if gone := sleep(ctx, wait); gone != nil {
			return &middleware.NotSentError{Err: fmt.Errorf("retry: %w while waiting for the end of the pause that the server of %s asked for", gone, tool)}
		}
	}
}

// spread returns a random part of half a pause, so that those who wait for its end do not all call in one moment.
func (r *retrier) spread(pause time.Duration) time.Duration {
	return time.Duration(r.Rand() * float64(pause/2))
}

// fits returns how long to wait for a pause to end and then on, and whether there is time for the pause.
func (r *retrier) fits(ctx context.Context, pause, more time.Duration) (time.Duration, bool) {
	if pause > r.Max {
		return 0, false
	}
	wait := min(pause+more, r.Max)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		if time.Until(deadline) <= pause {
			return 0, false
		}
		wait = pause
	}
	return wait, true
}
