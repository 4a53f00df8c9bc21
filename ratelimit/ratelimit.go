// Package ratelimit makes a call wait until the server and the tool can bear it, and refuses it at once if the
// wait would be too long.
//
// Two limits are kept: what the host allows for each server ([Options]), and the RateLimitHint of a tool, in
// calls a minute; 0 means never. Both are token buckets of golang.org/x/time/rate, one for each scope: with n
// scopes a server sees up to n times its limit.
//
// Calls wait in the order of arrival and hold no token: the first takes the token of the tool and of the
// server at one instant. So a call that is cancelled or refused has consumed nothing.
//
// Put it inside the cache, so that a hit costs no token, inside the confirmation, so that none ages while a
// person thinks, and inside retry, so that every attempt pays, as chain.Standard does.
package ratelimit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// Options configures [New]. The zero value keeps the tools' own limits and nothing else.
type Options struct {
	// PerMinute is how many calls a minute each server gets from each scope. 0 means no limit.
	PerMinute float64
	// Burst is how many calls may go at once after a pause. It needs a PerMinute. 0 means one second's worth, at
	// least 1.
	Burst int
	// Servers has limits of single servers, by id, instead of PerMinute and Burst. Nil means that all have the
	// same.
	Servers map[string]Limit
	// OneQuota gives each server one quota, which all scopes share, for servers that count one client. False
	// means that each scope has a quota of its own.
	OneQuota bool
	// MaxWait is the longest wait, unless the context ends earlier; a longer one is refused at once. 0 means one
	// minute.
	MaxWait time.Duration
	// MaxWaiters is how many calls of one scope may wait for a server, or for a tool; one more is refused. 0
	// means 1000.
	MaxWaiters int
	// Shared keeps the quota for all replicas of the host together; nil means that this process keeps it alone.
	Shared Shared
	// Replicas is how many replicas have Shared in common. While Shared gives no answer, each has one part in
	// that many of the quota, without what was saved before; 1 gives the whole quota to each replica. 0 means
	// that calls are refused meanwhile. It must be 0 without a Shared.
	Replicas int
	// Logger gets, at level Info, each call that has to wait. Nil is silent.
	Logger *slog.Logger
}

// A Limit is the limit of one server.
type Limit struct {
	// PerMinute is how many calls a minute each scope has, more than 0.
	PerMinute float64
	// Burst is how many calls may go at once after a pause. 0 means one second's worth, at least 1.
	Burst int
}

// New returns a middleware that limits calls. All chains that are built from it share its buckets. It is safe for
// concurrent use.
//
// A call that cannot be made in time ends with a [*LimitedError]; one whose context ends while it waits ends as
// [middleware.GivenUp] says. Neither was sent. New panics on a number that is negative or not finite, and on a
// limit of 0 for a server.
func New(opts Options) middleware.Middleware { return newLimiter(opts).middleware }

func newLimiter(opts Options) *limiter {
	check(opts)
	opts.Servers = maps.Clone(opts.Servers)
	opts.MaxWait, opts.MaxWaiters = cmp.Or(opts.MaxWait, time.Minute), cmp.Or(opts.MaxWaiters, 1000)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	bound := &bounded.Bound{Limit: sharedLimit, Name: "ratelimit: Options.Shared", Logger: opts.Logger, Late: new(atomic.Uint64)}
	return &limiter{o: opts, local: NewMemory(), bound: bound}
}

func (l *limiter) middleware(next middleware.ToolCaller) middleware.ToolCaller {
	return &caller{next, l}
}

func check(opts Options) {
	fault.RefuseNegative("ratelimit: Options", opts)
	limits := map[string]Limit{"": {opts.PerMinute, opts.Burst}}
	for server, own := range opts.Servers {
		limits[fmt.Sprintf("Servers[%q].", server)] = own
	}
	for at, limit := range limits {
		if limit.PerMinute == 0 && (at != "" || limit.Burst > 0) {
			panic("ratelimit: Options." + at + "PerMinute is 0, which is no limit; set it, or leave the burst and the server out")
		}
	}
	if opts.Shared == nil && opts.Replicas > 0 {
		panic("ratelimit: Options.Replicas has no effect without a Shared")
	}
}

type caller struct {
	next middleware.ToolCaller
	*limiter
}

func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "ratelimit", Next: c.next, Limits: true}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if err := c.admit(ctx, call.Scope, call.Tool); err != nil {
		return nil, err
	}
	return c.next.CallTool(ctx, call)
}

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

// maxLines is how many buckets a memory holds. Only a bucket that is as good as new is dropped.
const maxLines = 100_000

// waiterLease is how long a waiter counts that has to ask again and does not.
const waiterLease = 2 * time.Second

// Memory is a [Shared] limiter in this process. It holds 100,000 buckets that are not full, and refuses a waiter
// that needs one more. Use [NewMemory].
type Memory struct {
	born  time.Time
	since time.Time // when its buckets were empty; zero if they have always been full
	most  int       // lines

	mu    sync.Mutex
	lines map[key]*line
	last  *line     // that was used last, as most are again
	next  time.Time // when to look for lines that are as good as new
}

// A key names a bucket: a tool's, or that of a whole server.
type key struct{ scope, server, tool string }

// A line is a bucket and those that wait for it, in the order of arrival.
type line struct {
	*rate.Limiter
	key       key
	perSecond float64 // as the limiter's, without its lock
	burst     int
	waiters   []place
}

type place struct {
	id    string
	seen  time.Time
	awake chan struct{} // signalled when it is first; nil for one that asks again by itself
}

var _ Shared = (*Memory)(nil)

// NewMemory returns a limiter whose buckets are full.
func NewMemory() *Memory { return newMemory(time.Time{}) }

func newMemory(since time.Time) *Memory {
	return &Memory{born: time.Now(), lines: make(map[key]*line), since: since, most: maxLines}
}

// now reads the monotonic clock alone, which takes half as long as time.Now.
func (m *Memory) now() time.Time { return m.born.Add(time.Since(m.born)) }

func (m *Memory) Take(ctx context.Context, w Waiter) (time.Duration, error) {
	wait, stands, err := m.enter(ctx, w)
	if wait > 0 && !stands {
		wait = max(wait, min(max(w.Longest, 0), math.MaxInt64-1)+1) // more than it would wait
	}
	return wait, err
}

// noRoom is the wait for a bucket that does not fit. It ends when another is full again.
const noRoom = time.Duration(math.MaxInt64)

// enter is Take that also reports whether the waiter is in line.
func (m *Memory) enter(ctx context.Context, w Waiter) (wait time.Duration, stands bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if over(ctx) {
		return 0, false, givenUp(ctx)
	}
	now := m.now() // under the lock, so that no bucket sees time run backwards
	wait, stands = m.take(w.Scope, w.Buckets, place{w.ID, now, w.awake}, w.Longest, w.Most)
	if !stands {
		m.leave(w)
	}
	return wait, stands, nil
}

// allow takes one token of each bucket if they are there and nothing waits for them.
func (m *Memory) allow(scope string, buckets []Bucket) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait, _ := m.take(scope, buckets, place{seen: m.now()}, 0, 0)
	return wait == 0
}

// take takes one token of each bucket if it is the waiter's turn at all of them, and else returns how long that
// takes, in line if it may. A waiter is in the tool's line first, and in the server's only once the tool's token
// is there: a slow tool never holds up its server.
func (m *Memory) take(scope string, buckets []Bucket, w place, longest time.Duration, most int) (wait time.Duration, stands bool) {
	m.sweep(w.seen)
	var room [2]*line
	lines := room[:0]
	for _, b := range buckets {
		l := m.line(scope, b, w)
		if l == nil {
			return noRoom, false
		}
		lines = append(lines, l)
	}
	if len(lines) == 1 && len(lines[0].waiters) == 0 && lines[0].AllowN(w.seen, 1) { // as most calls
		return 0, false
	}
	ahead, turns, full := 0, 0, false
	newcomer := lines[0].index(w.id) < 0
	for i, l := range lines {
		if ahead > 0 && l.index(lines[i-1].waiters[0].id) >= 0 {
			ahead-- // it is in both lines
		}
		before := l.ahead(w)
		ahead += before
		full = full || newcomer && before >= most
		left := l.until(w.seen, ahead+1)
		if turns == i && ahead == 0 && left == 0 {
			turns++
		}
		wait = max(wait, left)
	}
	if turns == len(lines) {
		for _, l := range lines {
			l.AllowN(w.seen, 1)
		}
		return 0, false
	}
	if wait == 0 {
		wait = time.Millisecond // the token is for another, which asks soon
	}
	if full || wait > longest {
		return wait, false
	}
	for _, l := range lines[:turns+1] {
		l.stand(w)
	}
	return wait, true
}

func (m *Memory) Leave(_ context.Context, w Waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leave(w)
}

func (m *Memory) leave(w Waiter) {
	for _, b := range w.Buckets {
		if l := m.lines[b.key(w.Scope)]; l != nil {
			l.remove(w.ID)
		}
	}
}

func (b Bucket) key(scope string) key { return key{scope, b.Server, b.Tool} }

// line returns the line of a bucket, nil if there is no room for it. A changed limit holds from the next call on.
func (m *Memory) line(scope string, b Bucket, w place) *line {
	k := b.key(scope)
	l := m.last
	if l == nil || l.key != k {
		l = m.lines[k]
	}
	switch {
	case l == nil:
		if len(m.lines) >= m.most {
			return nil
		}
		l = &line{key: k, Limiter: rate.NewLimiter(rate.Limit(b.PerSecond), b.Burst), perSecond: b.PerSecond, burst: b.Burst}
		if !m.since.IsZero() {
			l.AllowN(m.since, b.Burst)
		}
		m.lines[k] = l
	case (l.perSecond != b.PerSecond || l.burst != b.Burst) && l.index(w.id) < 0:
		l.perSecond, l.burst = b.PerSecond, b.Burst
		l.SetLimitAt(w.seen, rate.Limit(b.PerSecond))
		l.SetBurstAt(w.seen, b.Burst)
		l.wakeFirst()
	}
	m.last = l
	return l
}

// until returns the time until there are n tokens, even more than the burst. It rounds as package rate does.
func (l *line) until(now time.Time, n int) time.Duration {
	missing := float64(n) - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	if d := missing / l.perSecond * float64(time.Second); d < math.MaxInt64 {
		return time.Duration(d)
	}
	return math.MaxInt64
}

func (l *line) index(id string) int { // -1 for none
	return slices.IndexFunc(l.waiters, func(p place) bool { return p.id == id })
}

func (l *line) ahead(w place) int {
	l.waiters = slices.DeleteFunc(l.waiters, func(p place) bool { return p.id != w.id && p.gone(w.seen) })
	if at := l.index(w.id); at >= 0 {
		return at
	}
	return len(l.waiters)
}

// gone reports whether the waiter has not asked again for too long.
func (p place) gone(now time.Time) bool { return p.awake == nil && now.Sub(p.seen) > waiterLease }

func (l *line) stand(w place) {
	if at := l.index(w.id); at >= 0 {
		l.waiters[at] = w
		return
	}
	l.waiters = append(l.waiters, w)
}

func (l *line) remove(id string) {
	at := l.index(id)
	if at < 0 {
		return
	}
	l.waiters = slices.Delete(l.waiters, at, at+1)
	if at == 0 {
		l.wakeFirst()
	}
}

func (l *line) wakeFirst() {
	if len(l.waiters) == 0 {
		return
	}
	select {
	case l.waiters[0].awake <- struct{}{}:
	default:
	}
}

func (m *Memory) sweep(now time.Time) {
	if now.Before(m.next) {
		return
	}
	m.next, m.last = now.Add(time.Second), nil
	for k, l := range m.lines {
		if l.until(now, l.burst) == 0 && !slices.ContainsFunc(l.waiters, func(p place) bool { return !p.gone(now) }) {
			delete(m.lines, k)
		}
	}
}

// A Shared limiter keeps one quota for several replicas of a host. [NewMemory] has one in this process; storetest
// checks that another keeps these promises:
//
//   - All replicas together get what a bucket holds and no more, by one clock.
//   - Who came first goes first, whichever replica it waits at.
//   - A waiter holds no token. One that leaves, or asks no more, is forgotten within
//     seconds and has cost nothing.
//   - A clock that jumps gives at most one burst, and takes at most one.
//   - What came in while it gave no answer is not there afterwards: the replicas had
//     it as their shares.
//
// It is safe for concurrent use, never waits for a token, and returns soon after its context is done, which ends
// after two seconds. A method that does not return counts as one that gave no answer.
type Shared interface {
	// Take takes one token of each bucket and returns 0, or takes none and returns how long that takes. If that
	// is at most w.Longest, the waiter is in line then, and asks again within a second.
	Take(ctx context.Context, w Waiter) (time.Duration, error)
	// Leave takes the waiter out of the line.
	Leave(ctx context.Context, w Waiter)
}

const sharedLimit = 2 * time.Second

// A Waiter is one call.
type Waiter struct {
	ID      string // of this call alone
	Scope   string
	Buckets []Bucket      // the tool's before the server's
	Longest time.Duration // that it would wait
	Most    int           // that may wait in line at each bucket

	awake chan struct{} // signals a waiter of this process that it is first; nil for others
}

// A Bucket is a token bucket of one scope.
type Bucket struct {
	Server, Tool string  // Tool is "" for the server's own
	PerSecond    float64 // tokens that come back
	Burst        int     // tokens that it holds
}
