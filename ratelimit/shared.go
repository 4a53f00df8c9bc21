package ratelimit

import (
	"context"
	"time"
)

// A Limiter keeps one quota for several replicas of a host. [NewMemory] has one in this process; storetest
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
type Limiter interface {
	// Take takes one token of each bucket and returns 0, or takes none and returns how long that takes. If that
	// is at most w.Longest, the waiter is in line then, and asks again within a second.
	Take(ctx context.Context, w Waiter) (time.Duration, error)
	// Leave takes the waiter out of the line.
	Leave(ctx context.Context, w Waiter)
}

// sharedLimit is how long a method of a [Limiter] may take.
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
