// Package chain puts middlewares in order. Most callers fill in a [Standard], whose
// order is argued; [New] composes any middlewares in an order of one's own, which
// [Verify] checks.
package chain

import (
	"context"
	"slices"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Chain is a list of middlewares, the first one outermost. It never changes; the zero
// value passes every call through.
type Chain struct{ links []middleware.Middleware }

// New returns a chain of the middlewares in the order given: the first one sees the call
// first and the result last. It panics on a nil middleware.
func New(links ...middleware.Middleware) Chain {
	if slices.ContainsFunc(links, func(m middleware.Middleware) bool { return m == nil }) {
		panic("chain: New was given a nil middleware")
	}
	return Chain{links: slices.Clone(links)}
}

// Then puts the chain in front of an executor, which should be guarded (see [Guard]).
// The result may be used by any number of goroutines; state that a middleware keeps
// belongs to what Then returned, unless its documentation says otherwise (a rate limit
// holds for all), so call it once and keep the result. c.Then is itself a
// [middleware.Middleware].
func (c Chain) Then(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("chain: Then was given a nil executor")
	}
	if r, ok := executor.(*reader); ok { // the chain is read and not used
		return r.read(c.links)
	}
	return assemble(c.links, executor, entry{guards: guarded(executor)})
}

// assemble puts the middlewares in front of an executor. The entry stands outside of them
// if it has something to do.
func assemble(links []middleware.Middleware, executor middleware.ToolCaller, e entry) middleware.ToolCaller {
	e.first = executor
	asks, tells := e.judge != nil, false
	for _, link := range slices.Backward(links) {
		e.first = link(e.first)
		// A link that describes no kind, or telemetry, may call RecordOf; of the others
		// there is something to record.
		d, ok := e.first.(middleware.Describer)
		if !ok || d.Describe().Kind == "" || d.Describe().Kind == "telemetry" {
			asks = true
		} else {
			tells = true
		}
	}
	if !asks || !tells {
		return e.first
	}
	return &e
}

// An entry begins the state of a call that enters a chain, so that its record can be
// asked for.
type entry struct {
	first  middleware.ToolCaller
	kind   string
	guards bool            // the executor is guarded
	judge  callstate.Judge // of the chain's Preflight, nil without one
}

// Describe implements [middleware.Describer].
func (e *entry) Describe() middleware.Description {
	return middleware.Description{Kind: e.kind, Next: e.first, Guards: e.guards}
}

func (e *entry) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return e.first.CallTool(callstate.Enter(ctx, &call, e.judge), call)
}

// Recover returns a middleware that returns a panic further in as a [*PanicError], and
// neither or both of result and error as an error alone. The outcome of an unsafe call
// that panicked is unknown. A [Standard] has it already.
func Recover() middleware.Middleware {
	return fault.Recover
}

// A PanicError is a panic further in. Its text does not repeat what panicked; Value and
// Stack are for the log.
type PanicError = fault.PanicError

// ErrRefused is in the tree of every error by which a guard refused a call.
var ErrRefused = guard.ErrRefused

// Guard stands in front of an executor of the host's own. A catalog and package mount
// have guards of their own, and [Standard.Then] puts one in front of an executor that has
// none. It refuses a Dangerous or Unknown call that carries no person's approval of
// exactly this tool, these arguments and this scope, whatever stands outside it. A tool's
// class is the one that infer.New gave it further out; a tool that infer.New has not seen
// is Unknown.
func Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return guard.Classified(executor)
}

// guarded reports whether an executor describes itself as guarded.
func guarded(executor middleware.ToolCaller) bool {
	for d := range turn.Described(executor) {
		if d.Guards {
			return true
		}
	}
	return false
}
