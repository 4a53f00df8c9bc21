// Package ratelimit makes a call wait until the server and the tool can bear it,
// and refuses it at once where the wait would be too long.
//
// Two limits are kept: what the host allows for each server ([Options]), and what
// a tool says it bears (RateLimitHint among its annotations, in calls a minute; 0
// means never). Both are token buckets of golang.org/x/time/rate, one for each
// scope, so that one tenant's burst does not stand in another's way: with n
// scopes a server sees up to n times its limit.
//
// Calls wait in the order in which they came. A waiting call holds no token and
// no reservation: only the first in a queue looks at the bucket, and it takes the
// token of the tool and of the server at one instant, when both are there. So a
// call that is cancelled while it waits leaves everything as if it had never
// come, and a call that is refused has consumed nothing.
//
// Put it inside the cache, so that a hit costs no token, inside the confirmation,
// so that none ages while a person thinks, and inside retry, so that every
// attempt pays. The chain's Standard order does that.
package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options say how many calls go through. The zero value keeps the tools' own
// limits and nothing else.
type Options struct {
	// PerMinute is how many calls a minute each server gets from each scope. 0
	// means no limit but what the tools themselves say.
	PerMinute float64
	// Burst is how many calls may go at once after a pause. It belongs to PerMinute
	// and must be 0 without it. 0 means one second's worth, at least 1.
	Burst int
	// Servers has a limit of its own for a server, by the id that the host gave it,
	// instead of PerMinute and Burst. nil means that all servers have the same.
	Servers map[string]Limit
	// MaxWait is the longest wait; a call that would wait longer is refused at once.
	// A context's earlier deadline counts as well. 0 means one minute.
	MaxWait time.Duration
	// MaxWaiters is how many calls may wait for one server in one scope, and for one
	// tool; one more is refused at once. 0 means 1000.
	MaxWaiters int
	// Shared keeps the quota for all replicas of the host together; nil means that
	// this process keeps it alone.
	Shared Shared
	// Replicas is how many replicas have Shared in common. While Shared gives no answer,
	// each has one part in that many of the quota: the rate, the burst and a line of its
	// own, without what was saved before. So 1 gives the whole quota to each replica. 0
	// means that calls are refused meanwhile. It must be 0 without a Shared.
	Replicas int
	// Logger hears, at level Info, of each call that has to wait. nil is silent.
	Logger *slog.Logger
}

// A Limit is the limit of one server.
type Limit struct {
	// PerMinute is how many calls a minute each scope has. It must be more than 0:
	// leave a server out of the map to give it the limit of all others.
	PerMinute float64
	// Burst is how many calls may go at once after a pause. 0 means one second's
	// worth, at least 1.
	Burst int
}

// New returns a middleware that paces calls. The buckets belong to what New
// returned and not to one chain: chains that are built from the same middleware
// share them, because the limit is the server's. It is safe for concurrent use.
//
// A call that cannot be made in time ends with a [*LimitedError], before anything
// was sent; one whose context ends while it waits ends as [middleware.GivenUp]
// says. New panics where a number is negative, not finite, or says that a server
// with a limit gets no calls.
func New(opts Options) middleware.Middleware { return newLimiter(opts).middleware }

func newLimiter(opts Options) *limiter {
	check(opts)
	log := cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &limiter{
		all:        Limit{opts.PerMinute, opts.Burst},
		servers:    maps.Clone(opts.Servers),
		maxWait:    cmp.Or(opts.MaxWait, time.Minute),
		maxWaiters: cmp.Or(opts.MaxWaiters, 1000),
		log:        log,
		local:      NewMemory(),
		shared:     opts.Shared,
		bound:      &bounded.Bound{Limit: sharedLimit, Name: "ratelimit: Options.Shared", Logger: log, Late: new(atomic.Uint64)},
		replicas:   opts.Replicas,
	}
}

func (l *limiter) middleware(next middleware.ToolCaller) middleware.ToolCaller {
	return &caller{next, l}
}

func check(opts Options) {
	limits := map[string]Limit{"": {opts.PerMinute, opts.Burst}}
	for server, own := range opts.Servers {
		limits[fmt.Sprintf("Servers[%q].", server)] = own
	}
	for at, limit := range limits {
		fault.RefuseNegative("ratelimit: Options."+at+"PerMinute", limit.PerMinute)
		fault.RefuseNegative("ratelimit: Options."+at+"Burst", limit.Burst)
		if limit.PerMinute == 0 && (at != "" || limit.Burst > 0) {
			panic("ratelimit: Options." + at + "PerMinute is 0, which is no limit; set it, or leave the burst and the server out")
		}
	}
	fault.RefuseNegative("ratelimit: Options.MaxWait", opts.MaxWait)
	fault.RefuseNegative("ratelimit: Options.MaxWaiters", opts.MaxWaiters)
	fault.RefuseNegative("ratelimit: Options.Replicas", opts.Replicas)
	if opts.Shared == nil && opts.Replicas > 0 {
		panic("ratelimit: Options.Replicas says nothing without a Shared")
	}
}

type caller struct {
	next middleware.ToolCaller
	*limiter
}

// Describe implements [middleware.Describer].
func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "ratelimit", Next: c.next, Limits: true}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if err := c.admit(ctx, call.Scope, call.Tool); err != nil {
		return nil, err
	}
	return c.next.CallTool(ctx, call)
}
