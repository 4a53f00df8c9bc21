package ratelimit

import (
	"container/list"
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// limiter is what all chains built from one middleware share.
type limiter struct {
	all        limit
	servers    map[string]limit
	maxWait    time.Duration
	maxWaiters int
	log        *slog.Logger
	born       time.Time
	shared     Shared // nil where this process keeps the quota
	outage     Outage
	part       int                    // replicas that share a quota while shared is out
	own        atomic.Pointer[Memory] // this one's part of it, while shared is out

	mu      sync.Mutex // guards what follows, and every bucket and waiter
	buckets *buckets
}

// A waiter is one call that has to wait. It stands in the tool's queue first, and
// at its head, once the tool's token is there, in the server's too. So a slow tool
// never blocks the server's queue.
type waiter struct {
	tool, server     *bucket       // nil where there is no such limit
	inTool, inServer *list.Element // its places, nil where it does not queue
	gone             bool
	arrived          time.Time
	awake            chan struct{} // holds one signal
}

func (w *waiter) wake() {
	select {
	case w.awake <- struct{}{}:
	default:
	}
}

// now is the buckets' time. It takes one reading of the clock, the monotonic one, where
// time.Now takes two.
func (l *limiter) now() time.Time { return l.born.Add(time.Since(l.born)) }

// admit returns nil when the call may go now, and has taken its tokens then.
func (l *limiter) admit(ctx context.Context, scope string, tool *middleware.Tool) error {
	if ctx.Err() != nil {
		return fault.GivenUp(ctx)
	}
	if tool == nil {
		return nil // the guard's business
	}
	byTool, ok := hinted(tool)
	if !ok {
		return &LimitedError{Tool: tool}
	}
	byServer, ok := l.servers[tool.Server]
	if !ok {
		byServer = l.all
	}
	if byTool == (limit{}) && byServer == (limit{}) {
		return nil
	}
	if l.shared != nil {
		return l.admitShared(ctx, scope, tool, byTool, byServer)
	}
	w, wait, err := l.enter(ctx, scope, tool, byTool, byServer)
	if w == nil {
		return err
	}
	defer l.leave(w)
	l.log.LogAttrs(ctx, slog.LevelInfo, "ratelimit: waiting",
		slog.String("tool", tool.String()), slog.String("class", tool.Safety().String()), slog.Duration("wait", wait))
	err = l.wait(ctx, tool, w)
	if said := callstate.Of(ctx); said.HasRecord() {
		said.Decide("ratelimit", "waited", time.Since(w.arrived).String())
	}
	return err
}

// hinted returns the limit that the tool itself bears; false where it is no calls,
// or no number that could be kept.
func hinted(tool *middleware.Tool) (limit, bool) {
	hint := tool.Annotations.RateLimitHint
	if hint == nil {
		return limit{}, true
	}
	if !(*hint > 0) || math.IsInf(*hint, 1) {
		return limit{}, false
	}
	return Limit{PerMinute: *hint}.limit(), true
}

// enter takes the tokens where they are there and nobody waits for them. Else it
// returns a waiter and how long it will probably wait, or refuses.
func (l *limiter) enter(ctx context.Context, scope string, tool *middleware.Tool, byTool, byServer limit) (*waiter, time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if over(ctx) {
		return nil, 0, givenUp(ctx)
	}
	now := l.now() // under the lock, so that no bucket sees time run backwards
	t, s, ok := l.find(now, scope, tool, byTool, byServer)
	if !ok {
		return nil, 0, refuse(tool, l.maxWait)
	}
	if t == nil && s.queue.Len() == 0 && s.AllowN(now, 1) { // the common case, in one look
		return nil, 0, nil
	}
	wait, waits := estimate(now, t, s)
	if !waits {
		take(now, t, s)
		return nil, 0, nil
	}
	full := t != nil && t.users >= l.maxWaiters || s != nil && s.users >= l.maxWaiters
	if full || !l.fits(ctx, now, now, wait) {
		return nil, 0, refuse(tool, wait)
	}
	return join(now, t, s), wait, nil
}

// find returns the tool's bucket and the server's, each nil where there is no such
// limit, and false where there is a limit and no room for its bucket.
func (l *limiter) find(now time.Time, scope string, tool *middleware.Tool, byTool, byServer limit) (t, s *bucket, ok bool) {
	if byServer != (limit{}) {
		if s = l.buckets.get(now, &key{scope: scope, server: tool.Server, whole: true}, byServer); s == nil {
			return nil, nil, false
		}
	}
	if byTool != (limit{}) {
		if s != nil {
			s.users++ // so that making room for the tool's does not drop it
			defer func() { s.users-- }()
		}
		if t = l.buckets.get(now, &key{scope: scope, server: tool.Server, tool: tool.Name()}, byTool); t == nil {
			return nil, nil, false
		}
	}
	return t, s, true
}

// estimate returns how long a call that comes now will wait at least, and whether
// it waits at all. Those ahead of it in the tool's queue that are not in the
// server's yet will be ahead of it there.
func estimate(now time.Time, tool, server *bucket) (time.Duration, bool) {
	var wait time.Duration
	ahead, waits := 0, false
	if tool != nil {
		ahead = tool.queue.Len()
		wait = tool.until(now, ahead+1)
		waits = ahead > 0 || wait > 0
		if ahead > 0 && tool.queue.Front().Value.(*waiter).inServer != nil {
			ahead--
		}
	}
	if server != nil {
		ahead += server.queue.Len()
		wait = max(wait, server.until(now, ahead+1))
		waits = waits || ahead > 0 || wait > 0
	}
	return wait, waits
}

// fits reports whether a wait from now on ends before the context's deadline and
// not after the longest wait.
func (l *limiter) fits(ctx context.Context, arrived, now time.Time, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && wait >= time.Until(deadline) {
		return false
	}
	return wait <= l.maxWait-now.Sub(arrived)
}

// join puts a new waiter at the end of the first queue that it needs.
func join(now time.Time, tool, server *bucket) *waiter {
	w := &waiter{tool: tool, server: server, arrived: now, awake: make(chan struct{}, 1)}
	if server != nil {
		server.users++
	}
	if tool != nil {
		tool.users++
		w.inTool = tool.queue.PushBack(w)
	} else {
		w.inServer = server.queue.PushBack(w)
	}
	return w
}

// wait returns when the tokens are taken or the call is given up.
func (l *limiter) wait(ctx context.Context, tool *middleware.Tool, w *waiter) error {
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for {
		more, err := l.step(ctx, tool, w)
		if err != nil || more == 0 {
			return err
		}
		timer.Reset(more)
		select {
		case <-ctx.Done():
		case <-w.awake:
		case <-timer.C:
		}
	}
}

// step does what can be done for w now. It returns how long it is of no use to
// look again unless w is woken, and 0 when the tokens are taken. The context is
// asked first: at one instant select may have chosen the timer.
func (l *limiter) step(ctx context.Context, tool *middleware.Tool, w *waiter) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if over(ctx) {
		return 0, givenUp(ctx)
	}
	now := l.now()
	more := turn(now, w.tool, w.inTool)
	if more == 0 && w.server != nil {
		if w.inServer == nil {
			if wait := w.server.until(now, w.server.queue.Len()+1); !l.fits(ctx, w.arrived, now, wait) {
				return 0, refuse(tool, wait)
			}
			w.inServer = w.server.queue.PushBack(w)
		}
		more = turn(now, w.server, w.inServer)
	}
	if more == 0 {
		take(now, w.tool, w.server)
		w.quit()
		return 0, nil
	}
	left := l.maxWait - now.Sub(w.arrived)
	if left <= 0 { // others came in between at the server
		wait, _ := estimate(now, w.tool, w.server)
		return 0, refuse(tool, wait)
	}
	return min(more, left), nil
}

// turn returns how long the waiter at place has to wait for the bucket: nothing
// where it is first and the token is there, else until it is woken or the token
// comes.
func turn(now time.Time, b *bucket, place *list.Element) time.Duration {
	switch {
	case b == nil:
		return 0
	case b.queue.Front() != place:
		return math.MaxInt64
	}
	return b.until(now, 1)
}

// take takes a token of each bucket; the caller has seen that they are there.
func take(now time.Time, tool, server *bucket) {
	if tool != nil {
		tool.AllowN(now, 1)
	}
	if server != nil {
		server.AllowN(now, 1)
	}
}

// leave takes w out of its queues, whatever has become of it.
func (l *limiter) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.quit()
}

// quit takes w out of its queues, once, and wakes who is first now.
func (w *waiter) quit() {
	if w.gone {
		return
	}
	w.gone = true
	w.tool.remove(w.inTool)
	w.server.remove(w.inServer)
}

// over reports whether the context is done, or its deadline has come although its
// own timer has not run yet.
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
