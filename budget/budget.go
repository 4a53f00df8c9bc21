// Package budget stops a session that has made as many calls, cost as much or taken as long as the host allows,
// and one that repeats itself in a loop.
//
// A session is a scope ([middleware.Call].Scope) until it has been idle for a while. The error tells the model
// why, what else to do, and when it may go on. Nothing here waits.
package budget

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value ends loops and sets no limit.
type Options struct {
	// Session is what one session may spend.
	Session Limit
	// Idle ends a session: after so long without a call its budget begins anew. Stopped calls do not count. 0
	// means one hour.
	Idle time.Duration
	// Repeats is how often in a row the same call, or the same few in turn, may have the same answers before the
	// next is stopped as a loop; at most 100, and five times as often if the answers differ. 0 means 4.
	Repeats int
	// Pause is how long after such a call it is let through once more, for slow polling. 0 means 30 seconds.
	Pause time.Duration
	// Ledger holds what was spent, for a host that reads or resets it, or shares it between values of New. Nil
	// means one of its own.
	Ledger *Ledger
	// Logger gets, at level Warn, each call that is stopped. Nil is silent.
	Logger *slog.Logger
}

// A Limit is how much may be spent. A zero field means no such limit.
type Limit struct {
	// Calls is how many calls may be made; cached answers count, and calls that were not carried out do not.
	Calls int
	// Cost is the sum of the tools' cost hints; a tool that has none costs nothing.
	Cost float64
	// Time is the sum of how long calls took, without the time that a person takes. A call is not begun when
	// it is used up, and not broken off.
	Time time.Duration
}

// New returns a middleware that stops calls with a [*StoppedError]. The cost of a call is reserved before it is
// made, so that concurrent calls cannot spend more together, and settled afterwards. New panics on a number that
// is negative or not finite.
func New(o Options) middleware.Middleware {
	fault.RefuseNegative("budget: Options", o)
	if o.Repeats > 100 {
		panic("budget: Options.Repeats is not between 0 and 100")
	}
	o.Idle, o.Repeats, o.Pause = cmp.Or(o.Idle, time.Hour), cmp.Or(o.Repeats, 4), cmp.Or(o.Pause, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Ledger == nil {
		o.Ledger = NewLedger(0)
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller { return &budget{o, next} }
}

type budget struct {
	Options

	next middleware.ToolCaller
}

func (b *budget) Describe() middleware.Description {
	return middleware.Description{Kind: "budget", Next: b.next}
}

// CountsRefused reports that calls which cannot be made count as well, see package chain.
func (*budget) CountsRefused() bool { return true }

func (b *budget) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	ctx, state := callstate.Ensure(ctx)
	began := b.Ledger.now()
	taken, stopped := b.take(state, began, &call)
	if stopped != nil {
		state.Decide("budget", "stopped", string(stopped.Reason))
		b.Logger.LogAttrs(ctx, slog.LevelWarn, "budget: stopped", slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()),
			slog.String("reason", string(stopped.Reason)), slog.Duration("after", stopped.After))
		return nil, stopped
	}
	waited := state.Waited()
	var end ending
	defer func() { // a panic on its way out is an end too
		end.at = b.Ledger.now()
		end.took = max(0, end.at-began-(state.Waited()-waited))
		b.settle(taken, end)
	}()
	res, err := b.next.CallTool(ctx, call)
	end.answer = b.Ledger.answer(res, err)
	if refused, ok := errors.AsType[interface {
		error
		Denied() bool
	}](err); ok {
		end.denied = refused.Denied()
	}
	end.returned = err != nil && (middleware.NotSent(err) || middleware.Refused(err))
	return res, err
}

// A taking is what one call has taken from its session.
type taking struct {
	session *session
	cost    float64
	place   int // in the session's history
}

// An ending is how the call came back.
type ending struct {
	at, took time.Duration
	answer   uint64
	returned bool // it was not carried out
	denied   bool // by a person
}

// take takes a call and its cost from the session before the call is made, so that calls in flight at the same time do
// not spend the same rest. It returns why the call is stopped instead, if a limit or a loop stops it.
func (b *budget) take(state *callstate.State, now time.Duration, call *middleware.Call) (taking, *StoppedError) {
	this := entry{tool: call.Tool, written: callstate.Hash(call.Arguments), at: now}
	cost := costOf(call.Tool)
	s := b.Ledger.enter(call.Scope, now, b.Idle)
	defer s.mu.Unlock()
	anew := max(s.last+s.idle-now, time.Millisecond)
	stopped := b.Session.stops(&s.all, cost, anew)
	if stopped == nil {
		this.call = s.calls.identity(state, b.Ledger.seed, this, call)
		stopped = s.calls.loop(&b.Options, this.call, now)
	}
	if stopped != nil {
		stopped.Tool = call.Tool
		return taking{}, stopped
	}
	s.flying++
	s.last = now
	s.all.add(1, cost, 0)
	return taking{session: s, cost: cost, place: s.calls.begin(b.Repeats, this)}, nil
}

// settle adds the time of a call that has come back, and returns what a call took that was not carried out.
func (b *budget) settle(t taking, e ending) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying--
	s.last = max(s.last, e.at)
	s.calls.end(t.place, e.answer, e.denied)
	calls, cost := 0, 0.0
	if e.returned {
		calls, cost = -1, -t.cost
	}
	if t.cost >= maxExact { // what was spent beside it is lost in the sum
		cost = 0
	}
	s.all.add(calls, cost, e.took)
}
