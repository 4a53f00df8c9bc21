package ratelimit

import (
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// A key names a bucket: a tool's, or that of a whole server.
type key struct{ scope, server, tool string }

func (b Bucket) key(scope string) key { return key{scope, b.Server, b.Tool} }

// A line is a bucket and those that wait for it, in the order of arrival.
type line struct {
	*rate.Limiter
	key       key
	perSecond float64 // as the limiter's, without its lock
	burst     int
	waiters   []place
}

// A place is one waiter in a line.
type place struct {
	id    string
	seen  time.Time
	awake chan struct{} // signalled when it is first; nil for one that asks again by itself
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

// index returns the place of a waiter, -1 if it is not in line.
func (l *line) index(id string) int {
	return slices.IndexFunc(l.waiters, func(p place) bool { return p.id == id })
}

// ahead returns how many come before a waiter, all of them if it is not in line yet.
func (l *line) ahead(w place) int {
	l.waiters = slices.DeleteFunc(l.waiters, func(p place) bool { return p.id != w.id && p.gone(w.seen) })
	if at := l.index(w.id); at >= 0 {
		return at
	}
	return len(l.waiters)
}

// gone reports whether the waiter has not asked again for too long.
func (p place) gone(now time.Time) bool { return p.awake == nil && now.Sub(p.seen) > waiterLease }

// stand puts a waiter in line, or records that it has asked again.
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
