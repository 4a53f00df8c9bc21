package ratelimit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

type limiter struct {
	o     Options
	local *Memory                // keeps the quota without Options.Shared
	bound *bounded.Bound         // of the calls of Options.Shared
	own   atomic.Pointer[Memory] // this replica's part of the quota during an outage
}

// askAgain is how often a waiter reports to a [Shared] that it is still there.
const askAgain = 500 * time.Millisecond

func (l *limiter) admit(ctx context.Context, scope string, tool *middleware.Tool) error {
	switch {
	case over(ctx):
		return givenUp(ctx)
	case tool == nil:
		return nil // the guard's business
	}
	if l.o.OneQuota {
		scope = ""
	}
	var room [2]Bucket
	buckets, ok := l.buckets(tool, room[:0])
	switch {
	case !ok:
		return &LimitedError{Tool: tool}
	case len(buckets) == 0, l.o.Shared == nil && l.local.allow(scope, buckets):
		return nil
	}
	return l.wait(ctx, tool, Waiter{ID: rand.Text(), Scope: scope, Most: l.o.MaxWaiters, Buckets: slices.Clone(buckets)})
}

// buckets appends the buckets of a call, the tool's own first. It reports false if the hint allows no calls.
func (l *limiter) buckets(tool *middleware.Tool, to []Bucket) ([]Bucket, bool) {
	if hint := tool.Annotations.RateLimitHint; hint != nil {
		if !(*hint > 0) || math.IsInf(*hint, 1) {
			return nil, false
		}
		to = append(to, Limit{PerMinute: *hint}.bucket(tool.Server, tool.Name()))
	}
	server, ok := l.o.Servers[tool.Server]
	if !ok {
		server = Limit{l.o.PerMinute, l.o.Burst}
	}
	if server.PerMinute > 0 {
		to = append(to, server.bucket(tool.Server, ""))
	}
	return to, true
}

func (l Limit) bucket(server, tool string) Bucket {
	perSecond := l.PerMinute / 60
	burst := l.Burst
	if burst == 0 {
		burst = int(max(1, min(perSecond, math.MaxInt32)))
	}
	return Bucket{Server: server, Tool: tool, PerSecond: perSecond, Burst: burst}
}

// wait returns when the tokens are taken, the wait would be too long, or the call is given up.
func (l *limiter) wait(ctx context.Context, tool *middleware.Tool, w Waiter) error {
	if l.o.Shared == nil {
		w.awake = make(chan struct{}, 1)
	}
	arrived, waited, inLine := time.Now(), false, false
	defer func() {
		if inLine {
			l.leave(ctx, w)
		}
		if said := callstate.Of(ctx); waited && said.HasRecord() {
			said.Decide("ratelimit", "waited", time.Since(arrived).String())
		}
	}()
	for {
		w.Longest = l.o.MaxWait - time.Since(arrived)
		if deadline, ok := ctx.Deadline(); ok {
			w.Longest = min(w.Longest, time.Until(deadline)-1)
		}
		wait, stands, err := l.take(ctx, w)
		inLine = stands
		switch {
		case over(ctx):
			inLine = true // perhaps
			return givenUp(ctx)
		case err != nil:
			return &LimitedError{Tool: tool, Wait: time.Second}
		case wait <= 0:
			return nil
		case !inLine && wait == noRoom:
			return &LimitedError{Tool: tool, Wait: time.Second, Full: true} // it is swept once a second
		case !inLine:
			return &LimitedError{Tool: tool, Wait: max(wait, time.Millisecond)}
		}
		if !waited {
			waited = true
			l.o.Logger.LogAttrs(ctx, slog.LevelInfo, "ratelimit: waiting",
				slog.String("tool", tool.String()), slog.String("class", tool.Safety().String()), slog.Duration("wait", wait))
		}
		if l.o.Shared != nil {
			wait = min(wait, askAgain)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-w.awake:
		case <-timer.C:
		}
		timer.Stop()
		if over(ctx) {
			return givenUp(ctx)
		}
	}
}

// take asks the shared limiter, or this replica's share if that gives no answer.
func (l *limiter) take(ctx context.Context, w Waiter) (wait time.Duration, stands bool, err error) {
	if l.o.Shared == nil {
		return l.local.enter(ctx, w)
	}
	wait, err = bounded.Do(ctx, l.bound, func(ctx context.Context) (time.Duration, error) { return l.o.Shared.Take(ctx, w) },
		func(time.Duration) { l.o.Shared.Leave(context.WithoutCancel(ctx), w) })
	switch {
	case err == nil:
		if l.own.Load() != nil {
			l.own.Store(nil) // what it has saved belongs to all
		}
		return wait, wait > 0 && wait <= w.Longest, nil
	case l.o.Replicas == 0 || ctx.Err() != nil:
		return 0, false, err
	}
	own := l.own.Load()
	if own == nil {
		own = newMemory(time.Now())
		l.own.CompareAndSwap(nil, own)
	}
	return own.enter(ctx, w.share(l.o.Replicas))
}

func (l *limiter) leave(ctx context.Context, w Waiter) {
	if l.o.Shared == nil {
		l.local.Leave(ctx, w)
		return
	}
	_, _ = bounded.Do(ctx, l.bound, func(ctx context.Context) (struct{}, error) {
		l.o.Shared.Leave(ctx, w)
		return struct{}{}, nil
	}, nil)
	if own := l.own.Load(); own != nil {
		own.Leave(ctx, w)
	}
}

func (w Waiter) share(n int) Waiter {
	w.Buckets = slices.Clone(w.Buckets)
	for i := range w.Buckets {
		b := &w.Buckets[i]
		b.PerSecond, b.Burst = b.PerSecond/float64(n), max(1, b.Burst/n)
	}
	return w
}

// over reports whether the context is done, or its deadline has come and its timer has not run yet.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= 0 || ctx.Err() != nil
}

func givenUp(ctx context.Context) error {
	if ctx.Err() == nil {
		return &middleware.NotSentError{Err: context.DeadlineExceeded}
	}
	return fault.GivenUp(ctx)
}

// ErrLimited is in the tree of every error that refuses a call in this package.
var ErrLimited = errors.New("ratelimit: too many calls")

// A LimitedError reports which call was refused and when there will be room. The call was not sent.
type LimitedError struct {
	fault.Unsent

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
