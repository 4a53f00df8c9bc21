package redis

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/fairlead-go/fairlead/ratelimit"
)

// waiterLease is how long a waiter counts after its last request.
const waiterLease = 2 * time.Second

// lately is how long after a return of Redis a bucket's first use may come. During the outage the replicas kept the
// quota alone, and they do not come back at the same time. So a bucket is closed for as long as others may take, and
// then begins empty.
const lately = time.Second

// Limiter returns the quota of all replicas, for ratelimit.Options.Shared. It works on a full Redis.
func (s *Store) Limiter() ratelimit.Limiter { return limiter{s} }

type limiter struct{ *Store }

// A bucket has its tokens and their time, the waiters in order, and when each last asked. The tool's
// bucket comes first, then the server's. A closed bucket, whose tokens are not counted yet, returns -1.
var take = script("take")

var leave = script("leave")

// keys are those of the waiter's buckets: for each its tokens, its queue, and when each waiter last asked.
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
			back, ago := l.runs.back.Load(), int64(-1)
			if back != nil && time.Since(*back) < lately {
				ago = time.Since(*back).Microseconds()
			}
			args := []any{w.ID, max(w.Longest, 0).Microseconds(), w.Most, waiterLease.Microseconds(), l.contacts.settle.Microseconds(), ago}
			for _, b := range w.Buckets {
				args = append(args, strconv.FormatFloat(b.PerSecond/1e6, 'g', -1, 64), b.Burst)
			}
			if wait, err = take.Run(ctx, l.client, keys, args...).Int64(); err != nil || l.runs.back.Load() == back {
				return err
			} // otherwise the connection is new, to a Redis that has just started
		}
	})
	if err == nil && wait < 0 {
		return 0, errShut
	}
	return time.Duration(min(wait, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond, err
}

func (l limiter) Leave(ctx context.Context, w ratelimit.Waiter) {
	l.soon(ctx, func(ctx context.Context) { l.run(ctx, ofLimiter, leave, l.keys(w), w.ID) })
}
