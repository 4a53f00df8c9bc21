package ratelimit

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// maxLines is how many buckets a memory holds.
const maxLines = 100_000

// waiterLease is how long a waiter counts that does not ask any more.
const waiterLease = 2 * time.Second

// Memory is a [Shared] limiter in this process, for middlewares that keep one
// quota, and the measure of others. It holds 100,000 buckets that are not full, and
// refuses who needs one more. The zero value is not ready; use [NewMemory].
type Memory struct {
	mu    sync.Mutex
	lines map[key]*line
	since time.Time // when its buckets were empty; zero where they have always been full
	next  time.Time // when to look for lines that are as good as new
}

// A line is a bucket and those who wait for it.
type line struct {
	tokens  float64
	at      time.Time
	full    time.Time // when it is as good as new
	waiters []inLine
}

type inLine struct {
	id   string
	seen time.Time
}

var _ Shared = (*Memory)(nil)

// NewMemory returns a limiter whose buckets are full.
func NewMemory() *Memory { return newMemory(time.Time{}) }

func newMemory(since time.Time) *Memory { return &Memory{lines: make(map[key]*line), since: since} }

// Take implements [Shared].
func (m *Memory) Take(ctx context.Context, w Waiter) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	lines := make([]*line, len(w.Buckets))
	for i, b := range w.Buckets {
		if lines[i] = m.line(now, w.Scope, b); lines[i] == nil {
			m.leave(w)
			return beyond(w.Longest), nil
		}
	}
	for i, b := range w.Buckets { // the next one's turn only once this one's token is there
		ahead, full := lines[i].ahead(now, w.ID, w.Most)
		wait := b.until(lines[i].tokens, ahead+1)
		if ahead > 0 && wait == 0 { // there is one, for another who asks soon
			wait = time.Millisecond
		}
		if wait == 0 {
			continue
		}
		if full || wait > w.Longest {
			m.leave(w)
			return max(wait, beyond(w.Longest)), nil
		}
		for _, l := range lines[:i+1] {
			l.stand(now, w.ID)
		}
		return wait, nil
	}
	for i, b := range w.Buckets {
		lines[i].tokens--
		lines[i].full = now.Add(b.until(lines[i].tokens, b.Burst))
	}
	m.leave(w)
	return 0, nil
}

// beyond is a wait that is too long for who would wait up to longest.
func beyond(longest time.Duration) time.Duration {
	return min(max(longest, 0), math.MaxInt64-1) + 1
}

// Leave implements [Shared].
func (m *Memory) Leave(_ context.Context, w Waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leave(w)
}

func (m *Memory) leave(w Waiter) {
	for _, b := range w.Buckets {
		if l := m.lines[b.key(w.Scope)]; l != nil {
			l.waiters = slices.DeleteFunc(l.waiters, func(in inLine) bool { return in.id == w.ID })
		}
	}
}

func (b Bucket) key(scope string) key {
	return key{scope: scope, server: b.Server, tool: b.Tool, whole: b.Tool == ""}
}

// line returns the line of a bucket as it is now, nil where there is no room for it.
func (m *Memory) line(now time.Time, scope string, b Bucket) *line {
	l := m.lines[b.key(scope)]
	if l == nil {
		if len(m.lines) >= maxLines {
			return nil
		}
		l = &line{at: m.since} // since ever is long enough for any burst
		m.lines[b.key(scope)] = l
	}
	if passed := now.Sub(l.at); passed > 0 {
		l.tokens += passed.Seconds() * b.PerSecond
	}
	l.tokens, l.at = min(l.tokens, float64(b.Burst)), now
	return l
}

// ahead returns how many stand before the waiter, and whether there is no place
// for it.
func (l *line) ahead(now time.Time, id string, most int) (ahead int, full bool) {
	l.waiters = slices.DeleteFunc(l.waiters, func(in inLine) bool { return in.id != id && now.Sub(in.seen) > waiterLease })
	at := slices.IndexFunc(l.waiters, func(in inLine) bool { return in.id == id })
	if at < 0 {
		return len(l.waiters), len(l.waiters) >= most
	}
	return at, false
}

// stand keeps the waiter's place, or gives it the last one.
func (l *line) stand(now time.Time, id string) {
	for i := range l.waiters {
		if l.waiters[i].id == id {
			l.waiters[i].seen = now
			return
		}
	}
	l.waiters = append(l.waiters, inLine{id, now})
}

// sweep drops what is as good as new.
func (m *Memory) sweep(now time.Time) {
	if now.Before(m.next) {
		return
	}
	m.next = now.Add(time.Second)
	for k, l := range m.lines {
		if !now.Before(l.full) && !slices.ContainsFunc(l.waiters, func(in inLine) bool { return now.Sub(in.seen) <= waiterLease }) {
			delete(m.lines, k)
		}
	}
}
