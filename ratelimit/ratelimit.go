// Package ratelimit makes a call wait until the server and the tool can bear it, and refuses it at once if the
// wait would be too long.
//
// Two limits are kept: what the host allows for each server ([Options]), and the RateLimitHint of a tool, in
// calls a minute; 0 means never. Both are token buckets of golang.org/x/time/rate, one for each scope: with n
// scopes a server sees up to n times its limit.
//
// Calls wait in the order of arrival and hold no token: the first takes the token of the tool and of the
// server at one instant. So a call that is cancelled or refused has consumed nothing. Neither has one whose server
// asks for a pause while it waits: it leaves the line, and the retry of the same chain has it wait for the end of the
// pause.
//
// Put it inside the cache, so that a hit costs no token, inside the confirmation, so that none ages while a
// person thinks, and inside retry, so that every attempt pays, as chain.Standard does.
package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	Shared Limiter
	// Replicas is how many replicas have Shared in common. While Shared gives no answer, each has one part in
	// that many of the quota, without what was saved before; 1 gives the whole quota to each replica. 0 means
	// that calls are refused meanwhile. It must be 0 without Shared.
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
// A call that cannot be made in time ends with a [*LimitedError]; one whose context ends while it waits ends with a
// [*middleware.NotSentError] of the context's cause. Neither was sent. New panics on a number that is negative or not
// finite, and on a limit of 0 for a server.
func New(opts Options) middleware.Middleware { return newLimiter(opts).middleware }

func newLimiter(opts Options) *limiter {
	check(opts)
	servers := make(map[string]Bucket, len(opts.Servers))
	for server, limit := range opts.Servers {
		servers[server] = limit.bucket(server, "")
	}
	opts.MaxWait, opts.MaxWaiters = cmp.Or(opts.MaxWait, time.Minute), cmp.Or(opts.MaxWaiters, 1000)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	bound := &bounded.Bound{Limit: sharedLimit, Name: "ratelimit: Options.Shared", Logger: opts.Logger, Late: new(atomic.Uint64)}
	return &limiter{o: opts, servers: servers, others: Limit{opts.PerMinute, opts.Burst}.bucket("", ""), local: newMemory(time.Time{}), bound: bound}
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
			panic("ratelimit: Options." + at + "PerMinute is 0, which means without a limit; set it, or leave the burst and the server out")
		}
	}
	if opts.Shared == nil && opts.Replicas > 0 {
		panic("ratelimit: Options.Replicas has no effect without Options.Shared")
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
