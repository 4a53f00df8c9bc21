// Package turn keeps the calls that a model asked for in one turn in order, behind the person and before the cache.
package turn

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Turn is the calls of one turn, in order.
type Turn struct {
	parallel int
	settled  chan struct{} // closed when no ticket is on its way any more

	mu      sync.Mutex
	tickets []*Ticket
	away    int // tickets that are on their way
	inside  int
}

// A Ticket is the place of one call in its turn. A nil Ticket belongs to no turn and never waits.
type Ticket struct {
	turn   *Turn
	server string

	here chan struct{} // closed when it is no longer on its way
	pass chan struct{} // closed when it may go on

	// Guarded by the turn's mutex.
	state state
	reads bool
}

type state uint8

const (
	onItsWay state = iota // its class is not known yet
	asking                // a person is asked about it
	waiting               // at the gate
	inside                // beyond it
	done
)

// New returns the tickets of a turn of calls to these servers, of which so many run side by side.
func New(parallel int, servers ...string) []*Ticket {
	t := &Turn{parallel: parallel, settled: make(chan struct{}), away: len(servers)}
	for _, server := range servers {
		t.tickets = append(t.tickets, &Ticket{turn: t, server: server, here: make(chan struct{}), pass: make(chan struct{})})
	}
	return t.tickets
}

// Of returns the ticket of the context's call, nil for none.
func Of(ctx context.Context) *Ticket {
	k, _ := callstate.TicketOf(ctx).(*Ticket)
	return k
}

// Turn returns the turn of a ticket that is not nil.
func (k *Ticket) Turn() *Turn { return k.turn }

// Here returns a channel that is closed when the call is before a person, at the gate, beyond it, or at its end.
func (k *Ticket) Here() <-chan struct{} { return k.here }

// Settled returns a channel that is closed when every call of the turn is somewhere.
func (t *Turn) Settled() <-chan struct{} { return t.settled }

// Asking records that a person is asked about the call.
func (k *Ticket) Asking() { k.move(asking) }

// Done records that the call has returned.
func (k *Ticket) Done() { k.move(done) }

func (k *Ticket) move(to state) {
	if k == nil {
		return
	}
	t := k.turn
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.state >= inside && to != done || k.state == done {
		return
	}
	if k.state == onItsWay {
		close(k.here)
		if t.away--; t.away == 0 {
			close(t.settled)
		}
	}
	switch {
	case k.state == inside:
		t.inside--
	case to == done:
		close(k.pass) // releases callers that come after the end; the guard decides about them
	}
	k.state = to
	t.step()
}

func (k *Ticket) enter(ctx context.Context, reads bool) error {
	k.turn.mu.Lock()
	if k.state < inside {
		k.reads = reads
	}
	k.turn.mu.Unlock()
	k.move(waiting)
	select {
	case <-k.pass:
		return nil
	case <-ctx.Done():
		return fault.GivenUp(ctx)
	}
}

// Place returns which ticket of its turn it is, from 1, and of how many. It is 0 for nil.
func (k *Ticket) Place() (n, of int) {
	if k == nil {
		return 0, 0
	}
	return slices.Index(k.turn.tickets, k) + 1, len(k.turn.tickets)
}

// step lets tickets in: once those before it to the same server have ended, or if all of them read. It needs the lock.
func (t *Turn) step() {
	type before struct{ reads, changes bool }
	servers := make(map[string]before)
	for _, k := range t.tickets {
		b := servers[k.server]
		if k.state == waiting && t.inside < t.parallel && !b.changes && (k.reads || !b.reads) {
			k.state = inside
			t.inside++
			close(k.pass)
		}
		switch {
		case k.state == done:
		case k.state >= waiting && k.reads:
			b.reads = true
		default: // it changes something, or its class is not known yet
			b.changes = true
		}
		servers[k.server] = b
	}
}

// Gate returns the middleware that keeps the calls of a turn in their order: for each server, writes one after
// the other, and no read beside a write. A call of no turn passes.
func Gate() middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller { return &gate{next} }
}

type gate struct{ next middleware.ToolCaller }

func (g *gate) Describe() middleware.Description {
	return middleware.Description{Kind: Kind, Next: g.next}
}

func (g *gate) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if err := Pass(ctx, &call); err != nil {
		return nil, err
	}
	return g.next.CallTool(ctx, call)
}

// Pass waits until a call of a turn may go on. A call of no turn passes at once.
func Pass(ctx context.Context, call *middleware.Call) error {
	k := Of(ctx)
	if k == nil {
		return nil
	}
	return k.enter(ctx, call.Tool.Safety() == annotation.Safe)
}

// Kind is the kind of a gate, and of a chain that has one. A confirmation passes calls as a gate does.
const (
	Kind     = "turn"
	confirms = "hitl"
)

// Gated reports whether a chain is known to have a gate.
func Gated(caller middleware.ToolCaller) bool {
	for d := range Described(caller) {
		if d.Kind == Kind || d.Kind == confirms {
			return true
		}
	}
	return false
}

// Described yields the descriptions of a caller and of its next, up to the first that has none, and at most
// 1,000, since middlewares may describe each other as their next.
func Described(caller middleware.ToolCaller) iter.Seq[middleware.Description] {
	return func(yield func(middleware.Description) bool) {
		for range 1000 {
			d, ok := caller.(middleware.Describer)
			if !ok {
				return
			}
			described := d.Describe()
			if !yield(described) {
				return
			}
			caller = described.Next
		}
	}
}
