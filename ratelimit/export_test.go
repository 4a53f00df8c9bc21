package ratelimit

import "github.com/fairlead-go/fairlead/middleware"

// NewBounded is New with another bound on the buckets, and a func that counts them.
func NewBounded(opts Options, most int) (middleware.Middleware, func() int) {
	l := newLimiter(opts)
	l.local.most = most
	return l.middleware, func() int {
		l.local.mu.Lock()
		defer l.local.mu.Unlock()
		return len(l.local.lines)
	}
}
