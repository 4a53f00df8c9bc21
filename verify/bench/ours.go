package main

import (
	"context"
	"math"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
)

// chained is the chain that the rows measure, with everything switched on and a change.
func chained(o cache.Options, change func(*chain.Standard)) build {
	return func(s *server) middleware.ToolCaller {
		c := chain.Standard{
			Budget:    budget.New(budget.Options{Session: budget.Limit{Calls: 1 << 40}}),
			Confirm:   hitl.New(nil, hitl.Options{}),
			Cache:     cache.New(o),
			Retry:     retry.New(retry.Options{}),
			RateLimit: ratelimit.New(ratelimit.Options{PerMinute: plenty * 60, Burst: math.MaxInt32}),
		}
		change(&c)
		return c.Then(guarded(s))
	}
}

// guarded is an executor with a guard that has the accepted tools, as a catalog is.
func guarded(executor middleware.ToolCaller) middleware.ToolCaller {
	accepted := map[string]*middleware.Tool{reads.Name(): reads, writes.Name(): writes, wipes.Name(): wipes}
	return guard.New(executor, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
		tool := accepted[call.Tool.Name()]
		if tool == nil || tool.Server != call.Tool.Server || tool.Digest != call.Tool.Digest {
			return nil, &guard.RefusedError{Tool: call.Tool, Reason: "it is not the one that was accepted"}
		}
		return tool, nil
	})
}

func ours(o cache.Options) build { return chained(o, func(*chain.Standard) {}) }

var oursInTime = chained(cache.Options{}, func(c *chain.Standard) {
	c.Timeout = timeout.New(timeout.Options{Default: time.Minute})
})

var oursAudited = chained(cache.Options{}, func(c *chain.Standard) {
	c.Audit = audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
})
