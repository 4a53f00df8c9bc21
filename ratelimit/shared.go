package ratelimit

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Shared limiter keeps one quota for several replicas of a host. [NewMemory] has
// one in this process; storetest says whether another keeps these promises:
//
//   - All replicas together get what a bucket holds and no more, by one clock.
//   - Who came first goes first, whichever replica it waits at.
//   - A waiter holds no token. One that leaves, or asks no more, is forgotten within
//     seconds and has cost nothing.
//   - A clock that jumps gives at most one burst, and takes at most one.
//   - What came in while it gave no answer is not there afterwards: the replicas had
//     it as their shares.
//
// It is safe for concurrent use, never waits for a token, and returns soon after
// its context is done.
type Shared interface {
	// Take takes one token of each bucket, or none, and returns 0 then. Else it
	// returns how long that takes as things stand. Up to w.Longest the waiter stands in
	// line after that, and asks again within a second; beyond, it does not.
	Take(ctx context.Context, w Waiter) (time.Duration, error)
	// Leave takes the waiter out of the line.
	Leave(ctx context.Context, w Waiter)
}

// A Waiter is one call.
type Waiter struct {
	ID      string // of this call alone
	Scope   string
	Buckets []Bucket      // the tool's before the server's
	Longest time.Duration // that it would wait
	Most    int           // that may stand in line at each bucket; it may not be the next
}

// A Bucket is a token bucket of one scope.
type Bucket struct {
	Server, Tool string  // Tool is "" for the server's own
	PerSecond    float64 // tokens that come back
	Burst        int     // tokens that it holds
}

// Outage says what becomes of calls while a [Shared] limiter gives no answer.
type Outage uint8

// What becomes of them. A share is kept as the whole is, burst and line, and begins
// with no tokens: what is gained by it is the rate since the last answer, and
// another answer ends it.
const (
	Share  Outage = iota // each replica gets its share of the quota
	Refuse               // they are refused
	Whole                // each replica gets the whole quota, and the server up to Replicas times that
)

// askAgain is how often a waiter says that it is still there.
const askAgain = 500 * time.Millisecond

// admitShared is admit where others share the quota.
func (l *limiter) admitShared(ctx context.Context, scope string, tool *middleware.Tool, byTool, byServer limit) error {
	w := Waiter{ID: rand.Text(), Scope: scope, Most: l.maxWaiters}
	if byTool != (limit{}) {
		w.Buckets = append(w.Buckets, Bucket{tool.Server, tool.Name(), float64(byTool.rate), byTool.burst})
	}
	if byServer != (limit{}) {
		w.Buckets = append(w.Buckets, Bucket{tool.Server, "", float64(byServer.rate), byServer.burst})
	}
	arrived, waits := time.Now(), false
	for {
		w.Longest = l.maxWait - time.Since(arrived)
		if deadline, ok := ctx.Deadline(); ok {
			w.Longest = min(w.Longest, time.Until(deadline)-1)
		}
		wait, err := l.takeShared(ctx, w)
		switch {
		case over(ctx):
			l.leaveShared(ctx, w)
			return givenUp(ctx)
		case err != nil:
			return &LimitedError{Tool: tool, Wait: time.Second}
		case wait <= 0:
			l.waited(ctx, waits, arrived)
			return nil
		case wait > w.Longest:
			return refuse(tool, wait)
		}
		if !waits {
			waits = true
			l.log.LogAttrs(ctx, slog.LevelInfo, "ratelimit: waiting",
				slog.String("tool", tool.String()), slog.String("class", tool.Safety().String()), slog.Duration("wait", wait))
		}
		if !sleep(ctx, min(wait, askAgain)) {
			l.leaveShared(ctx, w)
			l.waited(ctx, waits, arrived)
			return givenUp(ctx)
		}
	}
}

func (l *limiter) waited(ctx context.Context, waits bool, since time.Time) {
	if said := callstate.Of(ctx); waits && said.HasRecord() {
		said.Decide("ratelimit", "waited", time.Since(since).String())
	}
}

// takeShared asks all, and where they do not answer this replica's share. Who waits
// asks in this order again, so nobody waits for a share when all answer again.
func (l *limiter) takeShared(ctx context.Context, w Waiter) (time.Duration, error) {
	wait, err := l.shared.Take(ctx, w)
	switch {
	case err == nil:
		if l.own.Load() != nil {
			l.own.Store(nil) // what it has saved is the others'
		}
		return wait, nil
	case l.outage == Refuse || ctx.Err() != nil:
		return 0, err
	}
	own := l.own.Load()
	if own == nil {
		own = newMemory(time.Now())
		l.own.CompareAndSwap(nil, own)
	}
	return own.Take(ctx, w.part(l.part))
}

func (l *limiter) leaveShared(ctx context.Context, w Waiter) {
	l.shared.Leave(ctx, w)
	if own := l.own.Load(); own != nil {
		own.Leave(ctx, w)
	}
}

// part is a waiter for one replica's part of each bucket.
func (w Waiter) part(n int) Waiter {
	w.Buckets = slices.Clone(w.Buckets)
	for i := range w.Buckets {
		b := &w.Buckets[i]
		b.PerSecond, b.Burst = b.PerSecond/float64(n), max(1, b.Burst/n)
	}
	return w
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// part is how many replicas share a quota while they are on their own.
func part(o Options) int {
	if o.Outage == Whole {
		return 1
	}
	return cmp.Or(o.Replicas, 1)
}

// until is the time after which there are n tokens more than at the time given.
func (b Bucket) until(tokens float64, n int) time.Duration {
	missing := float64(n) - tokens
	if missing <= 0 {
		return 0
	}
	if d := math.Ceil(missing / b.PerSecond * float64(time.Second)); d < math.MaxInt64 {
		return time.Duration(d)
	}
	return math.MaxInt64
}
