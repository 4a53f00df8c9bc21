// Package chain puts middlewares in order. It knows which order and why, and
// does no work of its own.
package chain

import (
	"slices"

	"github.com/fairlead-go/fairlead/internal/grant"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Chain is a list of middlewares, the first one outermost. It never changes;
// the zero value passes every call through.
type Chain struct{ links []middleware.Middleware }

// New returns a chain of the middlewares in the order given: the first one sees
// the call first and the answer last. A nil middleware is a mistake in the
// program, and New panics.
func New(links ...middleware.Middleware) Chain {
	if slices.ContainsFunc(links, func(m middleware.Middleware) bool { return m == nil }) {
		panic("chain: New was given a nil middleware")
	}
	return Chain{links: slices.Clone(links)}
}

// Then hangs the chain in front of an executor. The result may be used by any
// number of goroutines; state that a middleware keeps belongs to what Then
// returned, unless its doc says otherwise (a rate limit holds for all), so call it
// once and keep the result. c.Then is itself a [middleware.Middleware].
func (c Chain) Then(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("chain: Then was given a nil executor")
	}
	if r, ok := executor.(*reader); ok { // the chain is read and not used
		return r.read(c.links)
	}
	for _, link := range slices.Backward(c.links) {
		executor = link(executor)
	}
	return executor
}

// ErrRefused is in the tree of every error by which a guard turned a call away.
var ErrRefused = grant.ErrRefused

// Guard stands before an executor of the host's own, one that is neither a
// catalogue nor one of package mount's, which are guarded already. It refuses a
// Dangerous or Unknown call that carries no person's yes for exactly this tool,
// these arguments and this scope, whatever stands outside it. A tool's class is
// the one that infer.New gave it further out; a tool that it never saw is
// Unknown.
func Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return grant.GuardClassed(executor)
}
