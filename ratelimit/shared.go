package ratelimit

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"time"

	"github.com/fairlead-go/fairlead/internal/note"
	"github.com/fairlead-go/fairlead/middleware"
	"golang.org/x/time/rate"
)

// A Shared limiter keeps one quota for several replicas of a host. [NewMemory] has
// one in this process; storetest says whether another keeps these promises:
//
//   - All replicas together get what a bucket holds and no more, by one clock.
//   - Who came first goes first, whichever replica it waits at.
//   - A waiter holds no token. One that leaves, or asks no more, is forgotten within
//     seconds and has cost nothing.
//   - A clock that jumps gives at most one burst, and takes at most one.
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
	Server, Tool string // Tool is "" for the server's own
	PerSecond    float64
	Burst        int
}

// Outage says what becomes of calls while a [Shared] limiter gives no answer.
type Outage uint8

// What becomes of them. Replicas keep their shares by themselves, beginning with
// no tokens, so that the burst is not had twice.
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
		wait, err := l.shared.Take(ctx, w)
		switch {
		case over(ctx):
			l.shared.Leave(ctx, w)
			return givenUp(ctx)
		case err != nil:
			return l.alone(ctx, scope, tool)
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
			l.shared.Leave(ctx, w)
			l.waited(ctx, waits, arrived)
			return givenUp(ctx)
		}
	}
}

func (l *limiter) waited(ctx context.Context, waits bool, since time.Time) {
	if said := note.Of(ctx); waits && said != nil {
		said.Say("ratelimit", "waited", time.Since(since).String())
	}
}

// alone decides what the shared limiter does not.
func (l *limiter) alone(ctx context.Context, scope string, tool *middleware.Tool) error {
	if l.outage == Refuse {
		return &LimitedError{Tool: tool, Wait: time.Second}
	}
	l.mu.Lock()
	if now := time.Now(); l.own == nil || now.Sub(l.lastAlone) > forgetAlone {
		own := newLimiter(l.replicaOptions(), maxBuckets, maxOverflow)
		own.share, own.buckets.empty = l.part, true
		l.own, l.lastAlone = own, now
	} else {
		l.lastAlone = now
	}
	own := l.own
	l.mu.Unlock()
	return own.admit(ctx, scope, tool)
}

// forgetAlone is how long after the last call of an outage another one begins
// anew, with empty buckets.
const forgetAlone = 2 * time.Second

// replicaOptions are those of the limiter that a replica has for itself.
func (l *limiter) replicaOptions() Options {
	return Options{
		PerMinute: l.opts.PerMinute, Burst: l.opts.Burst, Servers: l.opts.Servers,
		MaxWait: l.maxWait, MaxWaiters: l.maxWaiters, Logger: l.log,
	}
}

// of returns one replica's part of a limit; n of 0 or 1 is all of it.
func (l limit) of(n int) limit {
	if n <= 1 || l == (limit{}) {
		return l
	}
	return limit{l.rate / rate.Limit(n), max(1, l.burst/n)}
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
