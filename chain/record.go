package chain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

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

// A Source is where one argument came from, see [middleware.Source].
type Source = middleware.Source

// RecordOf returns what has happened so far to the call that ctx belongs to. A middleware of the host's own
// calls it when next has returned, with the context that it passed to next or was given:
//
//	res, err := next.CallTool(ctx, call)
//	record, ok := chain.RecordOf(ctx)
//
// It is false outside of a chain, and for what an executor does.
func RecordOf(ctx context.Context) (Record, bool) {
	state := callstate.Of(ctx)
	if state == nil {
		return Record{}, false
	}
	r := state.Record()
	record := Record{
		Tool: r.Tool, Cached: r.Cached, Age: r.Age, Approval: Approval(r.Approval), Attempts: r.Attempts,
		Replica: r.Replica, Waited: r.Waited, Sources: slices.Clone(r.Sources), Decisions: make([]Decision, len(r.Decisions)),
	}
	for i, d := range r.Decisions {
		d.Why = cmp.Or(d.Why, r.Memory(d))
		record.Decisions[i] = Decision(d)
	}
	return record, true
}
