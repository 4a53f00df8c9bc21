package ratelimit

import (
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// ErrLimited is in the tree of every error that refuses a call in this package.
var ErrLimited = errors.New("ratelimit: too many calls")

// A LimitedError reports which call was refused and when there will be room. The call was not sent.
type LimitedError struct {
	Tool *middleware.Tool
	// Wait is how long the call would have to wait as of now; 0 means for ever, since its tool allows no calls.
	Wait time.Duration
	// Full is set if the host's limiter has no room for another bucket, and the quota of the scope is not used
	// up.
	Full bool
}

func (e *LimitedError) Error() string {
	switch {
	case e.Permanent():
		return fmt.Sprintf("ratelimit: %s was refused: its rateLimitHint allows no calls; use another tool, or correct the hint", e.Tool)
	case e.Full:
		return fmt.Sprintf("ratelimit: %s was refused: the host's limiter has no room for the buckets of another scope; call it again in %v", e.Tool, shown(e.Wait))
	}
	return fmt.Sprintf("ratelimit: %s was refused: there is room for it in %v, which is too long to wait; call it again then", e.Tool, shown(e.Wait))
}

// NotSent reports that the call was not sent.
func (*LimitedError) NotSent() bool { return true }

func (e *LimitedError) ForModel() string {
	switch {
	case e.Permanent():
		return fmt.Sprintf("%s was not called: its limit allows no calls at all. Use another tool.", e.Tool.ModelName())
	case e.Full:
		return fmt.Sprintf("%s was not called: the host serves too many users at the moment. Call it again in %v.", e.Tool.ModelName(), shown(e.Wait))
	}
	return fmt.Sprintf("%s was not called: there were too many calls. Call it again in %v, or do something else first.", e.Tool.ModelName(), shown(e.Wait))
}

// shown rounds up, so that a call which waits for that time fits.
func shown(d time.Duration) time.Duration {
	unit := time.Second
	if d < 10*time.Second {
		unit = time.Millisecond
	}
	return fault.RoundUp(d, unit)
}

func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

// Permanent reports whether no wait will help.
func (e *LimitedError) Permanent() bool { return e.Wait <= 0 }

// RetryAfter returns how long it is of no use to call again, 0 if it never is of use.
func (e *LimitedError) RetryAfter() time.Duration { return e.Wait }
