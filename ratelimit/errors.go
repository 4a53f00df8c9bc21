package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// ErrLimited is in the tree of every error by which this package refuses a call.
var ErrLimited = errors.New("ratelimit: too many calls")

// A LimitedError says which call was refused and when there will be room. The
// call was not sent and has consumed nothing.
type LimitedError struct {
	fault.Unsent

	Tool *middleware.Tool
	// Wait is how long it takes, as things stand, until the call could go; 0 means
	// never, because the tool's own limit is no calls.
	Wait time.Duration
}

func (e *LimitedError) Error() string {
	if e.Permanent() {
		return fmt.Sprintf("ratelimit: %s was refused: its rateLimitHint allows no calls; use another tool, or correct the hint", e.Tool)
	}
	return fmt.Sprintf("ratelimit: %s was refused: there is room for it in %v, which is too long to wait; call it again then", e.Tool, shown(e.Wait))
}

// ForModel says when the call may be made again.
func (e *LimitedError) ForModel() string {
	if e.Permanent() {
		return fmt.Sprintf("%s was not called: its limit allows no calls at all. Use another tool.", e.Tool.ModelName())
	}
	return fmt.Sprintf("%s was not called: there were too many calls. Call it again in %v, or do something else first.", e.Tool.ModelName(), shown(e.Wait))
}

// shown rounds up, so that a call which waits as long as it was told fits.
func shown(d time.Duration) time.Duration {
	unit := time.Second
	if d < 10*time.Second {
		unit = time.Millisecond
	}
	if r := d.Truncate(unit); r < d && d < math.MaxInt64-unit {
		return r + unit
	}
	return d
}

// Is reports whether target is [ErrLimited].
func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

// Permanent reports whether no wait will help.
func (e *LimitedError) Permanent() bool { return e.Wait <= 0 }

// RetryAfter returns how long it is of no use to call again, 0 where it never is
// of use.
func (e *LimitedError) RetryAfter() time.Duration { return e.Wait }
