package ratelimit

import "github.com/fairlead-go/fairlead/middleware"

// NewBounded is New with other bounds on the buckets, and a func that counts them.
func NewBounded(opts Options, own, shared int) (middleware.Middleware, func() (own, shared int)) {
	l := newLimiter(opts, own, shared)
	return l.middleware, func() (int, int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.buckets.own.Len(), l.buckets.shared.Len()
	}
}
