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

// standard is the chain that the rows measure, with everything switched on.
func standard(o cache.Options) chain.Standard {
	return chain.Standard{
		Budget:    budget.New(budget.Options{Session: budget.Limit{Calls: 1 << 40}}),
		Confirm:   hitl.New(nil, hitl.Options{}),
		Cache:     cache.New(o),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{PerMinute: plenty * 60, Burst: math.MaxInt32}),
	}
}

// guarded is an executor with a guard that has the accepted tools, as a catalog is.
func guarded(executor middleware.ToolCaller, tools ...*middleware.Tool) middleware.ToolCaller {
	accepted := make(map[string]*middleware.Tool, len(tools))
	for _, tool := range tools {
		accepted[tool.Name()] = tool
	}
	return guard.New(executor, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
		tool := accepted[call.Tool.Name()]
		if tool == nil || tool.Server != call.Tool.Server || tool.Digest != call.Tool.Digest {
			return nil, &guard.RefusedError{Tool: call.Tool, Reason: "it is not the one that was accepted"}
		}
		return tool, nil
	})
}

func ours(o cache.Options) build {
	return func(s *server) middleware.ToolCaller { return standard(o).Then(guarded(s, reads, writes, wipes)) }
}

func oursInTime(s *server) middleware.ToolCaller {
	c := standard(cache.Options{})
	c.Timeout = timeout.New(timeout.Options{Default: time.Minute})
	return c.Then(guarded(s, reads, writes, wipes))
}

func oursAudited(s *server) middleware.ToolCaller {
	trail := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
	c := standard(cache.Options{})
	c.Audit = trail
	return c.Then(guarded(s, reads, writes, wipes))
}
