// Package batch makes the calls that a model asked for in one turn: side by side if that is harmless, and
// otherwise in their order. A [Host] is the model's side of it: tool calls by name go in, and results that a
// model can read come out. The adapters under contrib/ are thin around it.
//
// For each server, writes are made one after the other, no read runs beside a write, and a call waits for
// those before it that are not known to read. A [chain.Standard] keeps this order behind Confirm, by the
// class that the chain found for exactly these arguments, so that people are asked first, and together if
// the confirmer is a hitl.GroupConfirmer. Before any other caller the order is kept in front of the whole,
// by the class of each tool as it was passed, and people are asked one after the other.
//
// The calls enter the chain one by one, in order: each once the one before it is with a person, waits for
// its turn, is on its way to the server or has returned.
//
// [chain.Standard]: https://pkg.go.dev/github.com/fairlead-go/fairlead/chain#Standard
package batch

import (
	"cmp"
	"context"
	"errors"
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
	// Parallel is how many calls run at the same time, without those that wait for a person; 0 means 16.
	Parallel int
	// MaxCalls is how many calls one turn may hold; 0 means 128. Those beyond it are not made, and say so.
	MaxCalls int
}

// An Outcome is how one call ended. Exactly one of Result and Err is not nil.
type Outcome struct {
	Call   middleware.Call // as it was handed in
	Result *mcp.CallToolResult
	Err    error
}

// Run makes the calls of one turn with the zero [Options], and returns how they ended, in their order.
func Run(ctx context.Context, caller middleware.ToolCaller, calls []middleware.Call) []Outcome {
	return Options{}.Run(ctx, caller, calls)
}

// Run makes the calls of one turn and returns how they ended, in their order, when the last of them has. All
// of them end with ctx.
//
// A call with the ID of an earlier one is made under an ID of its own, such as "call_1#2", since some servers of models
// give all calls of a turn the same; its Outcome has the Call as it was handed in. One beyond MaxCalls ends in
// [ErrTooMany]. A failure or a panic affects its own call alone. Run panics on a nil caller and on options below zero.
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
	outcomes := make([]Outcome, len(calls))
	servers := make([]string, 0, len(calls))
	made := make([]int, 0, len(calls))
	most, ids := cmp.Or(o.MaxCalls, 128), ownIDs(calls)
	for i, call := range calls {
		outcomes[i].Call = call
		switch {
		case i >= most:
			why := fmt.Errorf("%w: it holds %d, and at most %d are made", ErrTooMany, len(calls), most)
			outcomes[i].Err = notMade(call.Tool, why, why.Error()+". Nothing has happened. If it is still needed, call it in the next turn, with fewer calls.")
		default:
			server := ""
			if call.Tool != nil {
				server = call.Tool.Server
			}
			made, servers = append(made, i), append(servers, server)
		}
	}
	var all sync.WaitGroup
	for n, k := range turn.New(cmp.Or(o.Parallel, 16), servers...) {
		all.Go(func() { run(ctx, caller, k, ids[made[n]], &outcomes[made[n]]) })
		<-k.Here() // so that an earlier call never waits for a later one, whatever is in the chain
	}
	all.Wait()
	return outcomes
}

// ownIDs returns an ID for each call: its own, or for one that an earlier call has, another that no call has.
func ownIDs(calls []middleware.Call) []string {
	ids, taken, times := make([]string, len(calls)), make(map[string]bool, len(calls)), make(map[string]int)
	for _, call := range calls {
		taken[call.ID] = true
	}
	for i, call := range calls {
		ids[i] = call.ID
		if times[call.ID]++; call.ID == "" || times[call.ID] == 1 {
			continue
		}
		for taken[ids[i]] {
			ids[i] = fmt.Sprintf("%s#%d", call.ID, times[call.ID])
			if taken[ids[i]] {
				times[call.ID]++
			}
		}
		taken[ids[i]] = true
	}
	return ids
}

// run makes one call under an ID, and fills in how it ended whatever becomes of its goroutine.
func run(ctx context.Context, caller middleware.ToolCaller, k *turn.Ticket, id string, out *Outcome) {
	defer k.Done()
	defer func() { // a tool may have ended the goroutine
		if out.Result == nil && out.Err == nil {
			out.Err = middleware.OutcomeUnknown(out.Call, errEnded)
		}
	}()
	call := out.Call
	call.ID = id
	out.Result, out.Err = fault.Call(callstate.WithTicket(ctx, k), caller, call)
}

// ErrTooMany is why a call of a batch was not made.
var ErrTooMany = errors.New("too many calls in one turn")

var errEnded = errors.New("batch: the call ended its goroutine")

func notMade(tool *middleware.Tool, why error, told string) error {
	err := fault.Unsendable(fmt.Errorf("batch: %s was not called: %w", tool, why))
	return fault.Told(err, false, tool.ModelName()+" was not called: "+told)
}
