// Package chain puts middlewares in order. Most callers fill in a [Standard]; [New] composes any middlewares
// in an order of one's own, which [Verify] checks.
package chain

import (
	"context"
	"slices"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Chain is a list of middlewares, the first one outermost. The zero value passes every call through.
type Chain struct{ links []middleware.Middleware }

// New returns a chain of the middlewares, the first one outermost. It panics on a nil middleware.
func New(links ...middleware.Middleware) Chain {
	if slices.ContainsFunc(links, func(m middleware.Middleware) bool { return m == nil }) {
		panic("chain: New was given a nil middleware")
	}
	return Chain{links: slices.Clone(links)}
}

// Then puts the chain in front of an executor, which should be guarded (see [Guard]). The result is safe for
// concurrent use. The chains that one value of a middleware is used in share what it keeps. Call
// Then once and keep the result. c.Then is itself a [middleware.Middleware].
func (c Chain) Then(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("chain: Then was given a nil executor")
	}
	return assemble(c.links, executor, &entry{guards: guarded(executor)})
}

// assemble puts the middlewares in front of an executor, and the entry outside of them.
func assemble(links []middleware.Middleware, executor middleware.ToolCaller, e *entry) middleware.ToolCaller {
	if r, ok := executor.(*reader); ok { // the chain is read and not used
		return r.read(links)
	}
	e.first = executor
	if _, ok := executor.(middleware.Describer); !ok { // a guard ends the call itself
		e.first = exit{executor, &e.chain}
	}
	for _, link := range slices.Backward(links) {
		e.first = link(e.first)
		if countsRefused(e.first) {
			e.count = append(e.count, link)
		}
	}
	return e
}

// An exit ends the state of a call before an executor without a guard: what the executor calls is another call.
type exit struct {
	executor middleware.ToolCaller
	chain    *callstate.Chain
}

func (x exit) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return x.executor.CallTool(x.chain.Exit(ctx), call)
}

// An entry begins the state of a call that enters a chain.
type entry struct {
	first  middleware.ToolCaller
	kind   string
	guards bool                    // the executor is guarded
	chain  callstate.Chain         // with the judge of its Preflight
	count  []middleware.Middleware // of calls that cannot be made, the innermost first
}

func (e *entry) Describe() middleware.Description {
	return middleware.Description{Kind: e.kind, Next: e.first, Guards: e.guards}
}

func (e *entry) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return e.first.CallTool(e.chain.Enter(ctx, &call), call)
}
