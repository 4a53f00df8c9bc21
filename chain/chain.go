// Package chain puts middlewares in order. Most callers fill in a [Standard]; [New] composes any middlewares
// in an order of one's own, which [Verify] checks.
package chain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/turn"
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
// concurrent use. The state of a middleware belongs to it unless its documentation states otherwise, so call
// Then once and keep the result. c.Then is itself a [middleware.Middleware].
func (c Chain) Then(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("chain: Then was given a nil executor")
	}
	return assemble(c.links, executor, entry{guards: guarded(executor)})
}

// assemble puts the middlewares in front of an executor, and the entry outside of them if it is needed.
func assemble(links []middleware.Middleware, executor middleware.ToolCaller, e entry) middleware.ToolCaller {
	if r, ok := executor.(*reader); ok { // the chain is read and not used
		return r.read(links)
	}
	e.first = executor
	asks, tells := e.judge != nil, false
	for _, link := range slices.Backward(links) {
		e.first = link(e.first)
		// A middleware without a kind, and telemetry, may call RecordOf; the others have something to record.
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

// An entry begins the state of a call that enters a chain, for RecordOf.
type entry struct {
	first  middleware.ToolCaller
	kind   string
	guards bool            // the executor is guarded
	judge  callstate.Judge // of the chain's Preflight, nil without one
}

func (e *entry) Describe() middleware.Description {
	return middleware.Description{Kind: e.kind, Next: e.first, Guards: e.guards}
}

func (e *entry) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return e.first.CallTool(callstate.Enter(ctx, &call, e.judge), call)
}

// Recover returns a middleware that turns a panic further in into a [*PanicError], and neither or both of result
// and error into an error. The outcome of an unsafe call that panicked is unknown. A [Standard] has it already.
func Recover() middleware.Middleware {
	return fault.Recover
}

// A PanicError is a panic further in. Its text does not repeat the value; Value and Stack are for the log.
type PanicError = fault.PanicError

// ErrRefused is in the tree of every error of a guard that refused a call.
var ErrRefused = guard.ErrRefused

// Guard returns the executor behind a guard, which a catalog and package mount have already and which
// [Standard.Then] adds if it is missing. It refuses a Dangerous or Unknown call without a person's approval of
// exactly this tool, these arguments and this scope, whatever is outside it. A tool has the class that
// infer.New gave it further out, and otherwise is Unknown.
func Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return guard.Classified(executor)
}

func guarded(executor middleware.ToolCaller) bool {
	for d := range turn.Described(executor) {
		if d.Guards {
			return true
		}
	}
	return false
}

// A Record is what has happened to a call so far.
type Record struct {
	// Tool is the tool as it was classified furthest in, with these arguments; nil if nothing has classified it.
	Tool *middleware.Tool
	// Cached is true if the result is an earlier one, or that of a call in flight.
	Cached bool
	// Age is how old a cached result is, 0 for that of a call in flight.
	Age time.Duration
	// Approval is how the call was approved; the zero value is not approved.
	Approval Approval
	// Attempts is how often the call was handed on by retry, 0 without one.
	Attempts int
	// Replica is the one that was called last, "" without routing.
	Replica string
	// Waited is how long the call waited for people.
	Waited time.Duration
	// Sources are where the arguments came from, if package flow traced them for a question to a person.
	Sources []Source
	// Decisions are what the middlewares decided about the call, in order.
	Decisions []Decision
}

// An Approval is how a call was approved.
type Approval struct {
	ID       string // of the question, under which the store of approvals has it
	By       string // who approved, as the confirmer named the person
	Standing bool   // by a remembered approval
}

// A Decision is one decision of one middleware about the call.
type Decision struct {
	Stage string // the kind of the middleware: "cache", "retry"
	What  string // one of few words, fit for a metric: "hit", "miss"
	Why   string // for people, "" if What is enough; may repeat arguments
}

// A Source is where one argument came from. Its texts are safe to show to a person.
type Source = callstate.Source

// RecordOf returns what has happened so far to the call that ctx belongs to. A middleware of the host's own
// calls it when next has returned, with the context that it passed to next or was given:
//
//	res, err := next.CallTool(ctx, call)
//	record, ok := chain.RecordOf(ctx)
//
// It is false outside of a chain, and for what an executor does.
func RecordOf(ctx context.Context) (Record, bool) {
	state := callstate.Of(ctx)
	if !state.HasRecord() {
		return Record{}, false
	}
	r := state.Record()
	record := Record{
		Tool: r.Tool, Cached: r.Cached, Age: r.Age, Approval: Approval(r.Approval), Attempts: r.Attempts,
		Replica: r.Replica, Waited: r.Waited, Sources: r.Sources, Decisions: make([]Decision, len(r.Decisions)),
	}
	for i, d := range r.Decisions {
		d.Why = cmp.Or(d.Why, r.Memory(d))
		record.Decisions[i] = Decision(d)
	}
	return record, true
}
