package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/middleware"
)

// bounds returns the growing bounds of the waits of one call.
func (r *retrier) bounds(tool *middleware.Tool) *backoff.ExponentialBackOff {
	first := r.First
	if first == 0 {
		first = defaultFirst
		if tool != nil && tool.Annotations.EstimatedDuration > 0 {
			first = min(max(tool.Annotations.EstimatedDuration, leastFirst), mostFirst)
		}
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(min(first, r.Max)),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(r.Max),
		backoff.WithMaxElapsedTime(0),
		// backoff draws from a global source; the jitter here comes from Options.
		backoff.WithRandomizationFactor(0),
	)
}

// wait returns how long to wait before the next attempt, and whether there is time for it.
func (r *retrier) wait(ctx context.Context, bounds *backoff.ExponentialBackOff, err error) (time.Duration, bool) {
	wait := time.Duration(r.Rand() * float64(bounds.NextBackOff()))
	if after, ok := middleware.RetryAfter(err); ok {
		return r.fits(ctx, after, max(wait-after, r.spread(after)))
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false
	}
	return wait, true
}

// sleep waits, and returns why the context ended meanwhile, or nil; also if both end at the same moment.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return cause.End(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}
