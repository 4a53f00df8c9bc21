package redis

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/ratelimit"
)

// waiterLease is how long a waiter counts after its last request.
const waiterLease = 2 * time.Second

// Limiter returns the quota of all replicas, for ratelimit.Options.Shared. It works on a full Redis.
func (s *Store) Limiter() ratelimit.Shared { return limiter{s} }

type limiter struct{ *Store }

// A bucket has its tokens and their time, the waiters in order, and when each last asked. The tool's
// bucket comes first, then the server's. A closed bucket, whose tokens are not counted yet, returns -1.
var take = script("take")

var leave = script("leave")

func (l limiter) keys(w ratelimit.Waiter) []string {
	keys := make([]string, 0, 3*len(w.Buckets))
	for _, b := range w.Buckets {
		about, name := l.seal.name("limit", w.Scope, b.Server), "server"
		if b.Tool != "" {
			name = l.seal.name("tool", b.Tool)
		}
		keys = append(keys, l.key("r", about, name), l.key("r", about, name, "line"), l.key("r", about, name, "seen"))
	}
	return keys
}

// errShut is the error of a closed bucket: each replica keeps to its share.
var errShut = errors.New("redis: the limiter: Redis has just come back; until all replicas have noticed, each keeps to its share")

func (l limiter) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	keys := l.keys(w)
	var wait int64
	err := l.do(ctx, ofLimiter, append(keys, "")[0], func(ctx context.Context) (err error) {
		for {
			first, since := l.returns.first(keys, time.Now())
			args := []any{w.ID, max(w.Longest, 0).Microseconds(), w.Most, waiterLease.Microseconds(), l.contacts.settle.Microseconds()}
			for i, b := range w.Buckets {
				args = append(args, strconv.FormatFloat(b.PerSecond/1e6, 'g', -1, 64), b.Burst, first[i])
			}
			if wait, err = take.Run(ctx, l.client, keys, args...).Int64(); err != nil {
				return err
			}
			if l.returns.begun(keys, since) {
				return nil
			} // otherwise the connection is new, to a Redis that has just started
		}
	})
	if err == nil && wait < 0 {
		return 0, errShut
	}
	return time.Duration(min(wait, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond, err
}

// Returns tracks how a bucket begins after an outage, during which the replicas kept the quota alone.
// They do not come back at the same time, so each closes the buckets that it uses, once, for as long as
// others may take; then the buckets begin empty.
type returns struct {
	mu      sync.Mutex
	last    time.Time       // zero before the first outage
	buckets map[string]bool // that have begun since then
}

// lately is how long after a return a bucket's first use may come.
const lately = time.Second

// again records that Redis is back, or has restarted.
func (r *returns) again(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.buckets = now, make(map[string]bool)
}

// first reports for each bucket whether this is its first use since Redis came back.
func (r *returns) first(keys []string, now time.Time) (first []bool, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = make([]bool, len(keys)/3)
	if !r.last.IsZero() && now.Sub(r.last) < lately {
		for i := range first {
			first[i] = !r.buckets[keys[3*i]]
		}
	}
	return first, r.last
}

// begun records that these buckets were used, and reports whether Redis has not restarted since then.
func (r *returns) begun(keys []string, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.last.Equal(since) {
		return false
	}
	if !since.IsZero() && time.Since(since) < lately {
		for i := 0; i < len(keys); i += 3 {
			r.buckets[keys[i]] = true
		}
	}
	return true
}

func (l limiter) Leave(ctx context.Context, w ratelimit.Waiter) {
	l.soon(ctx, func(ctx context.Context) { l.run(ctx, ofLimiter, leave, l.keys(w), w.ID) })
}
