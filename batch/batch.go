// Package batch makes the calls that a model asked for in one turn: side by side
// where that is harmless, and in the order given where it may not be. A [Host] is the
// model's side of it: tool calls by name go in, and results that a model can read come
// out, each to its own call. The adapters under contrib/ are thin around it; a loop of
// one's own needs no more.
//
// For each server, writes are made one after the other in the order of the calls, no
// read runs beside a write, and a call waits for those before it that are not known
// to read. Calls to different servers do not wait for each other. Which of them read
// is what the chain has found out, of exactly these arguments, when a call is past
// the person: a [chain.Standard] keeps the order there, so that people are asked
// first, and together where the confirmer is a hitl.GroupConfirmer. Before any other
// caller the order is kept in front of the whole, by the class that each tool has
// when it is handed in, and people are asked one after the other.
//
// The calls enter the chain one by one, in order, each when the one before it is
// somewhere: with a person, waiting for its place, on its way to the server or back.
//
// [chain.Standard]: https://pkg.go.dev/github.com/fairlead-go/fairlead/chain#Standard
package batch

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of a batch. The zero value is ready.
type Options struct {
	// Parallel is how many calls may be at work side by side; 0 means 16. Those that
	// wait for a person do not count.
	Parallel int
	// MaxCalls is how many calls one turn may hold; 0 means 128. Those beyond it are
	// not made, and say so.
	MaxCalls int
}

const (
	defaultParallel = 16
	defaultMaxCalls = 128
)

// An Outcome is how one call ended. Exactly one of Result and Err is not nil.
type Outcome struct {
	Call   middleware.Call // as it was handed in
	Result *mcp.CallToolResult
	Err    error
}

// Run makes the calls of one turn with the settings that zero [Options] stand for, and
// returns how they ended, in their order.
func Run(ctx context.Context, caller middleware.ToolCaller, calls []middleware.Call) []Outcome {
	return Options{}.Run(ctx, caller, calls)
}

// Run makes the calls of one turn and returns how they ended, in their order. It
// returns when the last of them has. Where ctx ends, all of them do.
//
// A call whose ID another one before it has, and one beyond MaxCalls, end in a
// [*NotMadeError]. A failure is its call's own, and so is a panic. Run panics on a nil
// caller and on options below zero.
func (o Options) Run(ctx context.Context, caller middleware.ToolCaller, calls []middleware.Call) []Outcome {
	switch {
	case caller == nil:
		panic("batch: Run was given a nil caller")
	case o.Parallel < 0 || o.MaxCalls < 0:
		panic("batch: Options.Parallel and Options.MaxCalls must not be negative")
	}
	if !turn.Gated(caller) {
		caller = turn.Gate()(caller)
	}
	caller = fault.Recover(caller)
	outcomes := make([]Outcome, len(calls))
	servers := make([]string, 0, len(calls))
	made := make([]int, 0, len(calls))
	most, seen := cmp.Or(o.MaxCalls, defaultMaxCalls), make(map[string]bool, len(calls))
	for i, call := range calls {
		outcomes[i].Call = call
		switch {
		case i >= most:
			outcomes[i].Err = &NotMadeError{Tool: call.Tool, Err: fmt.Errorf("%w: it holds %d, and at most %d are made", ErrTooMany, len(calls), most)}
		case call.ID != "" && seen[call.ID]:
			outcomes[i].Err = &NotMadeError{Tool: call.Tool, Err: fmt.Errorf("%w: %.80q", ErrRepeatedID, call.ID)}
		default:
			made, servers = append(made, i), append(servers, server(call.Tool))
		}
		seen[call.ID] = true
	}
	var all sync.WaitGroup
	for n, k := range turn.New(cmp.Or(o.Parallel, defaultParallel), servers...) {
		all.Go(func() { run(ctx, caller, k, &outcomes[made[n]]) })
		<-k.Here() // so that an earlier call never waits for a later one, whatever stands in the chain
	}
	all.Wait()
	return outcomes
}

func server(tool *middleware.Tool) string {
	if tool == nil {
		return ""
	}
	return tool.Server
}

// run makes the call of a ticket.
func run(ctx context.Context, caller middleware.ToolCaller, k *turn.Ticket, out *Outcome) {
	defer k.Done()
	defer func() { // a tool may have ended the goroutine
		if out.Result == nil && out.Err == nil {
			out.Err = middleware.OutcomeUnknown(out.Call, errEnded)
		}
	}()
	out.Result, out.Err = caller.CallTool(callstate.Keep(ctx, k), out.Call)
}
