package ratelimit

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLines is how many buckets a memory holds. Only a bucket that is as good as new is dropped.
const maxLines = 100_000

// waiterLease is how long a waiter counts that has to ask again and does not.
const waiterLease = 2 * time.Second

// A memory is a Limiter in this process.
type memory struct {
	born  time.Time
	since time.Time // when its buckets were empty; zero if they have always been full
	most  int       // lines

	mu    sync.Mutex
	lines map[key]*line
	last  *line     // that was used last, as most are again
	next  time.Time // when to look for lines that are as good as new
}

// NewMemory returns a limiter in this process whose buckets are full. It holds 100,000 buckets that are not full, and
// refuses a waiter that needs one more.
func NewMemory() Limiter { return newMemory(time.Time{}) }

func newMemory(since time.Time) *memory {
	return &memory{born: time.Now(), lines: make(map[key]*line), since: since, most: maxLines}
}

// now reads the monotonic clock alone, which takes half as long as time.Now.
func (m *memory) now() time.Time { return m.born.Add(time.Since(m.born)) }

// Take is that of [Limiter]. It never blocks, and its only error is that of a context that is done.
func (m *memory) Take(ctx context.Context, w Waiter) (time.Duration, error) {
	wait, stands, err := m.enter(ctx, w)
	if wait > 0 && !stands {
		wait = max(wait, min(max(w.Longest, 0), math.MaxInt64-1)+1) // more than it would wait
	}
	return wait, err
}

// noRoom is the wait for a bucket that does not fit. It ends when another is full again.
const noRoom = time.Duration(math.MaxInt64)

// enter is Take that also reports whether the waiter is in line.
func (m *memory) enter(ctx context.Context, w Waiter) (wait time.Duration, stands bool, err error) {
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

// allow takes a token of one bucket if it is there and nothing waits for it.
func (m *memory) allow(scope string, b Bucket) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.sweep(now)
	l := m.line(scope, &b, "", now)
	return l != nil && len(l.waiters) == 0 && l.AllowN(now, 1)
}

// allowAll takes one token of each bucket if they are there and nothing waits for them.
func (m *memory) allowAll(scope string, buckets []Bucket) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait, _ := m.take(scope, buckets, place{seen: m.now()}, 0, 0)
	return wait == 0
}

// take takes one token of each bucket if it is the waiter's turn at all of them, and else returns how long that
// takes, in line if it may. A waiter is in the tool's line first, and in the server's only once the tool's token
// is there: a slow tool never holds up its server.
func (m *memory) take(scope string, buckets []Bucket, w place, longest time.Duration, most int) (wait time.Duration, stands bool) {
	m.sweep(w.seen)
	var room [2]*line
	lines := room[:0]
	for i := range buckets {
		l := m.line(scope, &buckets[i], w.id, w.seen)
		if l == nil {
			return noRoom, false
		}
		lines = append(lines, l)
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

// Leave is that of [Limiter].
func (m *memory) Leave(_ context.Context, w Waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leave(w)
}

func (m *memory) leave(w Waiter) {
	for _, b := range w.Buckets {
		if l := m.lines[b.key(w.Scope)]; l != nil {
			l.remove(w.ID)
		}
	}
}

// line returns the line of a bucket, nil if there is no room for it. A changed limit holds from the next call on that
// is not in line already, as the one with the id may be.
func (m *memory) line(scope string, b *Bucket, id string, now time.Time) *line {
	l := m.last
	if l == nil || l.key.server != b.Server || l.key.scope != scope || l.key.tool != b.Tool {
		l = m.lines[b.key(scope)]
	}
	switch {
	case l == nil:
		if len(m.lines) >= m.most {
			return nil
		}
		l = &line{key: b.key(scope), Limiter: rate.NewLimiter(rate.Limit(b.PerSecond), b.Burst), perSecond: b.PerSecond, burst: b.Burst}
		if !m.since.IsZero() {
			l.AllowN(m.since, b.Burst)
		}
		m.lines[l.key] = l
	case (l.perSecond != b.PerSecond || l.burst != b.Burst) && l.index(id) < 0:
		l.perSecond, l.burst = b.PerSecond, b.Burst
		l.SetLimitAt(now, rate.Limit(b.PerSecond))
		l.SetBurstAt(now, b.Burst)
		l.wakeFirst()
	}
	m.last = l
	return l
}

// sweep drops the lines that are as good as new, once a second. The lock is held.
func (m *memory) sweep(now time.Time) {
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
