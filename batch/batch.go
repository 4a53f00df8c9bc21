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
	// Parallel is how many calls may be at work side by side; 0 means 16. Those that
	// wait for a person do not count.
	Parallel int
	// MaxCalls is how many calls one turn may hold; 0 means 128. Those beyond it are
	// not made, and say so.
	MaxCalls int
	// StopOnFailure makes no further calls once one has failed, was refused or reports
	// an error; what is under way goes on. The default is that each call stands for
	// itself.
	StopOnFailure bool
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
// A call whose ID another one before it has, one beyond MaxCalls, and one that was
// held back by StopOnFailure end in a [*NotMadeError]. A panic is an error of its call
// alone. Run panics on a nil caller and on options below zero.
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
	b := &batch{Options: o, caller: fault.Recover(caller)}
	return b.run(ctx, calls)
}

type batch struct {
	Options

	caller middleware.ToolCaller

	mu      sync.Mutex
	stopped bool
	waiting map[*turn.Ticket]context.CancelCauseFunc // of calls that StopOnFailure can hold back
}

func (b *batch) run(ctx context.Context, calls []middleware.Call) []Outcome {
	outcomes := make([]Outcome, len(calls))
	servers := make([]string, 0, len(calls))
	made := make([]int, 0, len(calls))
	most, seen := cmp.Or(b.MaxCalls, defaultMaxCalls), make(map[string]bool, len(calls))
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
	tickets := turn.New(cmp.Or(b.Parallel, defaultParallel), servers...)
	b.waiting = make(map[*turn.Ticket]context.CancelCauseFunc, len(tickets))
	var all sync.WaitGroup
	for n, k := range tickets {
		one, cancel := b.admit(ctx, k)
		all.Go(func() {
			defer cancel(nil)
			b.call(one, k, &outcomes[made[n]])
		})
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

func (b *batch) admit(ctx context.Context, k *turn.Ticket) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(callstate.Keep(ctx, k))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting[k] = cancel; b.stopped {
		cancel(ErrStopped)
	}
	return ctx, cancel
}

func (b *batch) call(ctx context.Context, k *turn.Ticket, out *Outcome) {
	defer k.Done()
	defer func() { // a tool may have ended the goroutine
		if out.Result == nil && out.Err == nil {
			out.Err = middleware.OutcomeUnknown(out.Call, errEnded)
		}
	}()
	if held(ctx) {
		out.Err = &NotMadeError{Tool: out.Call.Tool, Err: ErrStopped}
		return
	}
	out.Result, out.Err = b.caller.CallTool(ctx, out.Call)
	switch {
	case out.Err != nil && held(ctx) && middleware.NotSent(out.Err):
		out.Err = &NotMadeError{Tool: out.Call.Tool, Err: ErrStopped}
	case b.StopOnFailure && (out.Err != nil || out.Result.IsError):
		b.stop()
	}
}

func held(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrStopped) }

func (b *batch) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	for k, cancel := range b.waiting {
		k.Hold(func() { cancel(ErrStopped) })
	}
}
