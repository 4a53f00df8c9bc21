package ratelimit_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// A counted limiter says how often it was asked.
type counted struct {
	ratelimit.Shared

	takes atomic.Int64
}

func (c *counted) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	c.takes.Add(1)
	return c.Shared.Take(ctx, w)
}

// Who waits behind others asks seldom, though a token is there that is another's: of
// one that has died and may be in line for two seconds, or that waits for its server.
func TestWhoWaitsBehindOthersAsksSeldom(t *testing.T) {
	t.Parallel()
	t.Run("one that has died", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			shared := &counted{Shared: ratelimit.NewMemory()}
			callers, tool, calls := replicas(t, 1, ratelimit.Options{PerMinute: 600, Burst: 2, Shared: shared, Replicas: 1})
			own := []ratelimit.Bucket{{Server: "crm", PerSecond: 10, Burst: 2}}
			for _, id := range []string{"first", "second", "dead"} {
				if _, err := shared.Take(t.Context(), ratelimit.Waiter{ID: id, Buckets: own, Longest: time.Hour, Most: 9}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(500 * time.Millisecond) // there are tokens, and it is still in line
			shared.takes.Store(0)
			began := time.Now()
			if _, err := callers[0].CallTool(t.Context(), middleware.Call{Tool: tool}); err != nil || calls.Load() != 1 {
				t.Fatal(err, calls.Load())
			}
			if took := time.Since(began); took > 1600*time.Millisecond || shared.takes.Load() > 50 {
				t.Errorf("it asked %d times and had to wait for %v", shared.takes.Load(), took)
			}
		})
	})
	t.Run("those who wait for the server", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			shared := &counted{Shared: ratelimit.NewMemory()}
			callers, tool, calls := replicas(t, 1, ratelimit.Options{PerMinute: 60, Burst: 1, Shared: shared, Replicas: 1})
			hinted := *tool
			hinted.Annotations.RateLimitHint = new(600.0) // ten at once
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() { _, _ = callers[0].CallTool(t.Context(), middleware.Call{Tool: &hinted}) })
			}
			began := time.Now()
			all.Wait()
			if took := time.Since(began); calls.Load() != 10 || took > 9*time.Second+100*time.Millisecond {
				t.Errorf("%d calls in %v, want 10 in 9 s", calls.Load(), took)
			}
			if got := shared.takes.Load(); got > 10*9*3 { // twice a second, and once more for each turn
				t.Errorf("they asked %d times", got)
			}
		})
	})
}
