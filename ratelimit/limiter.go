package ratelimit

import (
	"context"
	"crypto/rand"
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

// A limiter asks for the tokens of a call and waits until it has them. It reserves nothing: a waiter is in line, and
// takes the tokens of all its buckets at one instant when it is first and they are there. In this process the one
// that leaves a line wakes the next; a waiter of a [Limiter] has no such signal and asks again twice a second.
type limiter struct {
	o       Options
	servers map[string]Bucket      // of [Options.Servers], by server
	others  Bucket                 // of the other servers; PerSecond 0 for no limit
	local   *memory                // keeps the quota without Options.Shared
	bound   *bounded.Bound         // of the calls of Options.Shared
	own     atomic.Pointer[memory] // this replica's part of the quota during an outage
}

// askAgain is how often a waiter reports to a [Limiter] that it is still there.
const askAgain = 500 * time.Millisecond

// admit returns when the call may go, or why it may not.
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
	if tool.Annotations.RateLimitHint == nil && l.o.Shared == nil { // as for most calls, which take one token
		if b := l.ofServer(tool.Server); b.PerSecond == 0 || l.local.allow(scope, b) {
			return nil
		}
	}
	var room [2]Bucket
	buckets, ok := l.buckets(tool, room[:0])
	switch {
	case !ok:
		return &LimitedError{Tool: tool}
	case len(buckets) == 0, l.o.Shared == nil && l.local.allowAll(scope, buckets):
		return nil
	}
	return l.wait(ctx, tool, scope, slices.Clone(buckets))
}

// buckets appends the buckets of a call, the tool's own first. It reports false if the hint allows no calls.
func (l *limiter) buckets(tool *middleware.Tool, to []Bucket) ([]Bucket, bool) {
	if hint := tool.Annotations.RateLimitHint; hint != nil {
		if !(*hint > 0) || math.IsInf(*hint, 1) {
			return nil, false
		}
		to = append(to, Limit{PerMinute: *hint}.bucket(tool.Server, tool.Name()))
	}
	if b := l.ofServer(tool.Server); b.PerSecond > 0 {
		to = append(to, b)
	}
	return to, true
}

// ofServer returns the bucket of a server. Its PerSecond is 0 if there is no limit.
func (l *limiter) ofServer(server string) Bucket {
	b, ok := l.servers[server]
	if !ok {
		b = l.others
	}
	b.Server = server
	return b
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
func (l *limiter) wait(ctx context.Context, tool *middleware.Tool, scope string, buckets []Bucket) error {
	w := Waiter{ID: rand.Text(), Scope: scope, Most: l.o.MaxWaiters, Buckets: buckets}
	if l.o.Shared == nil {
		w.awake = make(chan struct{}, 1)
	}
	arrived, waited, inLine := time.Now(), false, false
	defer func() {
		if inLine {
			l.leave(ctx, w)
		}
		if waited {
			callstate.Of(ctx).Decide("ratelimit", "waited", time.Since(arrived).String())
		}
	}()
	for {
		w.Longest = l.o.MaxWait - time.Since(arrived)
		if deadline, ok := ctx.Deadline(); ok {
			w.Longest = min(w.Longest, time.Until(deadline)-1)
		}
		if waited { // a call that does not wait has been checked a moment ago
			if err := callstate.Of(ctx).Paused(tool); err != nil {
				return err // before a token is taken, which the next one in line gets
			}
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

// leave takes a waiter out of every line that it may be in.
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

// share returns the waiter with buckets of one of n replicas.
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
