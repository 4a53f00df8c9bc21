package chain

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Standard is the chain in its argued order, one slot for each middleware. The
// order does not depend on the order of writing, and an empty slot is left out:
//
//	Outermost → Output → Telemetry → Record → recover → Infer → Budget → Preflight → Confirm → PerCall →
//	Intent → Cache → Retry → RateLimit → PerAttempt → Timeout → Route → executor
//
// Only the outer edge turns errors into answers and cuts them, so that memory holds
// them whole and records see errors as errors. A person is asked once, about the
// class that these arguments have, outside memory and repetition; a remembered
// answer costs no place in the rate; every attempt pays for its own, has a time
// limit of its own, and may go to another replica. Without Confirm, dangerous calls
// are refused by the guard at the executor, not made. What the executor would refuse
// outright is refused early (see [Standard.Then]), and with Preflight recover stands
// inside Confirm too, where the class is known. There, too, the calls of one batch
// (package batch) are kept in their order.
type Standard struct {
	// Outermost sees every call and its final answer, as the model will see it.
	Outermost []middleware.Middleware
	// Output makes errors into answers and cuts what is too long (output.New).
	Output middleware.Middleware
	// Telemetry measures the whole call (contrib/otel).
	Telemetry middleware.Middleware
	// Record writes down what came of each call (the Record of an audit.Trail).
	Record middleware.Middleware
	// Infer gives a class to tools that no catalogue has classed (infer.New).
	Infer middleware.Middleware
	// Budget bounds what a session may spend, and ends loops (budget.New).
	Budget middleware.Middleware
	// Preflight classes the call by its arguments (package preflight).
	Preflight middleware.Middleware
	// Confirm asks a person (hitl.New).
	Confirm middleware.Middleware
	// PerCall sees what was allowed, before it is looked up in memory.
	PerCall []middleware.Middleware
	// Intent writes down what is about to be done (the Intent of the same trail).
	Intent middleware.Middleware
	// Cache remembers reads (cache.New).
	Cache middleware.Middleware
	// Retry repeats what failed (retry.New).
	Retry middleware.Middleware
	// RateLimit paces (ratelimit.New).
	RateLimit middleware.Middleware
	// PerAttempt sees each attempt, once it may go out.
	PerAttempt []middleware.Middleware
	// Timeout bounds each attempt (timeout.New).
	Timeout middleware.Middleware
	// Route chooses among the replicas of a server (package route).
	Route middleware.Middleware

	// admit is the executor's own (middleware.Admitter), nil where it has none. It stands
	// there for the tool, for what preflight found of these arguments, and for replicas.
	admit middleware.Middleware
}

// links returns the middlewares that are there, outermost first.
func (s Standard) links() []middleware.Middleware {
	type links = []middleware.Middleware
	all := slices.Concat(
		// the edge: the answer as the model will see it, and what is written down of it
		s.Outermost, links{s.Output, s.Telemetry, s.Record},
		// what the tool alone tells
		links{middleware.Recover(), s.admit, s.Infer, s.Budget},
		// what its arguments tell, and a person
		links{s.Preflight, s.admit, s.Confirm, turn.Gate(), s.recoverJudged()}, s.PerCall,
		// what is done once for a call, however often it is tried
		links{s.Intent, s.Cache},
		// the attempts, and each of them
		links{s.Retry, s.RateLimit}, s.PerAttempt, links{s.Timeout, s.admitRouted(), s.Route},
	)
	return slices.DeleteFunc(all, func(m middleware.Middleware) bool { return m == nil })
}

// recoverJudged is for a call of which Preflight knows more: the recover before it
// knows the tool, and not what the arguments make of it.
func (s Standard) recoverJudged() middleware.Middleware {
	if s.Preflight == nil {
		return nil
	}
	return middleware.Recover()
}

// admitRouted is for what Route leads past the executor's own guard.
func (s Standard) admitRouted() middleware.Middleware {
	if s.Route == nil {
		return nil
	}
	return s.admit
}

// Then hangs the chain in front of an executor: a catalogue, one of package
// mount's, or one of the host's own behind [Guard]. Call it once and keep the
// result, which is safe for concurrent use. Where the executor is a
// [middleware.Admitter], such as a catalogue or a view of one, what it would refuse
// outright is refused after recover: nobody is asked about it and no memory
// answers it.
func (s Standard) Then(executor middleware.ToolCaller) middleware.ToolCaller {
	if a, ok := executor.(middleware.Admitter); ok {
		s.admit = a.Admit
	}
	c := New(s.links()...).Then(executor)
	if !turn.Gated(c) { // a link of the host's hides the gate
		c = turn.Ordered()(c)
	}
	return c
}

// Middleware returns the chain as a middleware, for where one is asked for.
func (s Standard) Middleware() middleware.Middleware { return s.Then }

// Enforces says what the assembled chain keeps, asked of what its slots build. It
// counts on the guard at the executor: a catalogue and package mount have one, any
// other needs [Guard].
func (s Standard) Enforces() middleware.Promises {
	promises := middleware.Promises{Guards: true}
	for _, link := range s.links() {
		if p, ok := link(nowhere).(middleware.Promiser); ok {
			p.Promise(&promises)
		}
	}
	return promises
}

// nowhere is the executor of a chain that is only looked at.
var nowhere = middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	return nil, errors.New("chain: this chain was built to be looked at")
})

// Explain says what class the tool has, why, and what this chain will do with a
// call of it.
func (s Standard) Explain(tool *middleware.Tool) string {
	return tool.Explain() + "  will: " + strings.Join(s.Will(tool), " · ") + "\n"
}

// Will lists in a few words what this chain does with the calls of a tool, as its
// middlewares tell it.
func (s Standard) Will(tool *middleware.Tool) []string { return s.Teller()(tool) }

// Teller returns Will for many tools: it builds the chain once and not for each of
// them. The func is safe for concurrent use.
func (s Standard) Teller() func(tool *middleware.Tool) []string {
	var tellers []middleware.Teller
	for _, link := range s.links() {
		if t, ok := link(nowhere).(middleware.Teller); ok {
			tellers = append(tellers, t)
		}
	}
	return func(tool *middleware.Tool) []string {
		var words []string
		switch {
		case s.Confirm != nil:
		case tool.Safety().MustConfirm(): // by the guard
			words = append(words, "refuse, nobody can be asked")
		default:
			words = append(words, "run")
		}
		for _, t := range tellers {
			if word := t.Will(tool); word != "" {
				words = append(words, word)
			}
		}
		return words
	}
}
