package main

import (
	"context"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type requestKey struct{}

// chained is the chain in its standard order. The host configures the members that name entities, and
// the servers' quotas if there are any.
func chained(w *run) chain.Standard {
	entities := map[string][]string{}
	for _, t := range tools {
		if len(t.names) > 0 {
			entities[t.String()] = t.names
		}
	}
	limits := map[string]ratelimit.Limit{}
	for server, n := range quotas {
		if w.quotas != nil {
			limits[server] = ratelimit.Limit{PerMinute: n * 60, Burst: int(n)}
		}
	}
	person := hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
		if err := w.ask(ctx, ctx.Value(requestKey{}).(*request)); err != nil {
			return hitl.Decision{}, err
		}
		return hitl.Decision{Verdict: hitl.Approved, By: "the host"}, nil
	})
	return chain.Standard{
		Confirm:   hitl.New(person, hitl.Options{}),
		Cache:     cache.New(cache.Options{Entries: 10_000, Entities: entities}),
		Retry:     retry.New(retry.Options{Rand: func() float64 { return 1 }}),
		RateLimit: ratelimit.New(ratelimit.Options{Servers: limits}),
		Timeout:   timeout.New(timeout.Options{Default: attemptTime}),
	}
}

// executor hands a call to its server, and counts the dangerous ones without a question.
func executor(w *run) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		r := ctx.Value(requestKey{}).(*request)
		if call.Tool.Safety().MustConfirm() { // the guard has consumed a grant
			return w.call(ctx, r)
		}
		return w.send(ctx, r)
	})
}

func through(c middleware.ToolCaller, classed func(*tool) *middleware.Tool) caller {
	known := map[*tool]*middleware.Tool{}
	for i := range tools {
		known[&tools[i]] = classed(&tools[i])
	}
	return func(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
		return c.CallTool(context.WithValue(ctx, requestKey{}, r), middleware.Call{ID: r.id(), Tool: known[r.tool], Arguments: r.raw})
	}
}

func fairlead(w *run) caller {
	c := chained(w)
	c.Infer = infer.New(infer.Options{})
	return through(c.Then(chain.Guard(executor(w))), func(t *tool) *middleware.Tool {
		return newTool(t, annotation.Annotations{})
	})
}

func fairleadDeclared(w *run) caller {
	return through(chained(w).Then(world.Guard(executor(w))), func(t *tool) *middleware.Tool {
		declared := t.kind.Annotations()
		declared.Freshness = t.fresh
		return newTool(t, declared.Attribute(annotation.Declared, t.server))
	})
}

func newTool(t *tool, a annotation.Annotations) *middleware.Tool {
	return testtool.Of(t.server, &mcp.Tool{Name: t.name, Description: t.description, InputSchema: map[string]any{"type": "object"}}, a)
}
