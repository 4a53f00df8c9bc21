// Package callstate keeps what the packages of a chain know about one call: the record of what happened to it, its
// canonical arguments and their binding, its class, the approval for it, the mark of its audit record and its place
// in a batch.
//
// A [State] travels in the context under the one key of this package, and is a context itself. The chain makes the
// first one of each call ([Enter]), and a middleware that is used alone does so too ([Ensure]). Facts about the whole
// call stand in a [Call], which all states of it share. An approval, a class and other facts that hold only further in
// stand in a named field of the state that gives them and of those derived from that one: they end where its context
// ends, and nothing further out sees them. A call that an executor makes inside has a state of its own, whose parent is
// this one.
package callstate

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/middleware"
)

// A State is what is known about a call at one point on its way. The nil State holds nothing and drops what it is
// given. All methods are safe for concurrent use.
type State struct {
	context.Context

	call   *Call  // what all states of the call share; nil for one that is made before its call
	parent *State // of the call that this one is made within, nil for none
	over   bool   // the call was handed to its executor
	inward
}

// inward is what holds from one point on the way of a call inwards.
type inward struct {
	own

	class   *middleware.Tool // the tool as inference classified it: [WithClass]
	answer  *answer          // what preflight found: [WithAnswer]
	grant   *Grant           // the approval of the call: [WithGrant]
	mark    *Binding         // of the call that is recorded before it is made: [WithMark]
	sent    *middleware.Call // that is sent through the SDK: [WithSent]
	passage Passage          // through audit: [State.Pass]
}

// own is the part of inward that does not hold for calls that the executor makes inside.
type own struct {
	judge    Judge    // of arguments that a person edits: [WithJudge]
	limit    *limit   // on the tools that the caller may use: [WithLimit]
	admitted Admitted // to a session: [WithAdmitted]
	ticket   Ticket   // of a batch: [WithTicket]
	recorded int      // how many passages through audit are outside of this point
}

func (o *own) empty() bool {
	return o.judge == nil && o.limit == nil && o.admitted == (Admitted{}) && o.ticket == nil && o.recorded == 0
}

// A Call is what all states of one call have in common.
type Call struct {
	mu       sync.Mutex // guards what follows
	record   Record
	recorded int // how many passages through audit have begun
	facts    facts

	// Space for most calls.
	decisions [4]Decision
	form      [256]byte
	formed    bool // form is in use
	left      State
	handed    atomic.Bool // left is in use
}

type key struct{}

// Value returns the state itself for the key of this package.
func (s *State) Value(k any) any {
	if k == (key{}) {
		return s
	}
	return s.Context.Value(k)
}

// nearest returns the innermost state of the context, of this call or an enclosing one. The nil State is one without
// anything.
func nearest(ctx context.Context) *State {
	s, _ := ctx.Value(key{}).(*State)
	return s
}

// within returns what holds at a point.
func (s *State) within() inward {
	if s == nil {
		return inward{}
	}
	return s.inward
}

// Of returns the state of the call that ctx belongs to, nil if there is none or if the call has been handed to its
// executor.
func Of(ctx context.Context) *State {
	if s := nearest(ctx); s != nil && !s.over {
		return s
	}
	return nil
}

// derive returns a state further in, of the same call.
func derive(ctx context.Context) State {
	outer := nearest(ctx)
	s := State{Context: ctx, inward: outer.within()}
	switch {
	case outer == nil:
	case outer.over:
		s.parent = outer
	default:
		s.call, s.parent = outer.call, outer.parent
	}
	return s
}

// first is the first state of a call, and what all of them share, in one piece.
type first struct {
	State

	shared Call
}

// Begin returns the first state of a call.
func Begin(ctx context.Context) *State {
	outer, f := nearest(ctx), new(first)
	f.shared.record.Decisions = f.shared.decisions[:0]
	f.State = State{Context: ctx, call: &f.shared, inward: outer.within()}
	f.recorded = 0
	if outer != nil && outer.call == nil { // it was made for this call
		f.parent = outer.parent
	} else {
		f.parent = outer
	}
	return &f.State
}

// Ensure returns the state of the call, a new one if it has none, and the context that carries it.
func Ensure(ctx context.Context) (context.Context, *State) {
	if s := Of(ctx); s.live() {
		return ctx, s
	}
	s := Begin(ctx)
	return s, s
}

// Enter returns the context of a call that enters a chain, with a new state unless ctx has that of a call of
// the same tool. Judge classifies arguments that a person edits; nil for nothing that does.
func Enter(ctx context.Context, call *middleware.Call, judge Judge) context.Context {
	if s := Of(ctx); s.live() && s.call.same(call.Tool) {
		if judge == nil {
			return ctx
		}
		return WithJudge(ctx, judge)
	}
	s := Begin(ctx)
	s.call.record.Tool = call.Tool
	if judge != nil {
		s.judge = judge
	}
	return s
}

// live reports whether the state belongs to a call.
func (s *State) live() bool { return s != nil && s.call != nil }

// same reports whether the record is that of a call of the tool, or of a call without a tool.
func (c *Call) same(tool *middleware.Tool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.record.Tool
	return have == nil || tool != nil && have.Server == tool.Server && have.Name() == tool.Name()
}

// Leave returns the context for the executor of the call. A call that the executor makes has a state of its own.
func Leave(ctx context.Context) context.Context {
	s := Of(ctx)
	if s == nil || s.call == nil && s.own.empty() {
		return ctx
	}
	left := s.call.room()
	*left = *s
	left.Context = ctx
	left.leave()
	return left
}

// room returns the space for the state of the executor, which is a part of the call for the first one.
func (c *Call) room() *State {
	if c == nil || !c.handed.CompareAndSwap(false, true) {
		return new(State)
	}
	return &c.left
}

// leave ends what holds for the call alone.
func (s *State) leave() { s.over, s.own = true, own{} }

// Sending returns the state of the call that is handed to its executor, nil without one. Facts about its arguments
// are still valid.
func Sending(ctx context.Context) *State { return nearest(ctx) }

// WithSent returns a context for what sends the call through the SDK.
func WithSent(ctx context.Context, call *middleware.Call) context.Context {
	s := derive(ctx)
	s.sent = call
	s.leave()
	return &s
}

// Sent returns the ID and the scope of the call that an executor further out is sending, for a chain beneath a
// session of the SDK, whose types do not carry them.
func Sent(ctx context.Context) (id, scope string) {
	if call := nearest(ctx).within().sent; call != nil {
		return call.ID, call.Scope
	}
	return "", ""
}

// A Ticket is the place of a call in its batch; internal/turn makes them.
type Ticket interface {
	// Asking records that a person is asked about the call.
	Asking()
	// Done records that the call has returned.
	Done()
}

// WithTicket returns a context for a call of a batch.
func WithTicket(ctx context.Context, k Ticket) context.Context {
	s := derive(ctx)
	s.ticket = k
	return &s
}

// TicketOf returns the ticket of the context's call, nil for a call of no batch.
func TicketOf(ctx context.Context) Ticket { return Of(ctx).within().ticket }

// Admitted is to which session of a server a call was admitted. Each session of a catalog has a number of its own.
type Admitted struct {
	Server  string
	Session uint64
}

// WithAdmitted returns a context for a call that was admitted.
func WithAdmitted(ctx context.Context, a Admitted) context.Context {
	s := derive(ctx)
	s.admitted = a
	return &s
}

// AdmittedTo returns where the context's call was admitted, the zero value for nowhere.
func AdmittedTo(ctx context.Context) Admitted { return Of(ctx).within().admitted }

// A Passage is a call on its way through an audit trail, from its first record to its last.
type Passage interface {
	// Outside returns the passage outside of this one, of another trail or of an enclosing call; nil for none.
	Outside() Passage
}

// Pass begins a passage of the context's call through audit. The state that it returns belongs to the passage. A call
// that a host makes again begins with a record of its own.
func Pass(ctx context.Context, p Passage) State {
	ctx, s := Ensure(ctx)
	if !s.call.passes(s.recorded) {
		s = Begin(ctx)
		ctx = s
		s.call.passes(0)
	}
	inner := derive(ctx)
	inner.passage = p
	inner.recorded++
	return inner
}

// passes counts a passage. It is false if one has begun that is not outside of this one.
func (c *Call) passes(outside int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recorded != outside {
		return false
	}
	c.recorded++
	return true
}

// PassageOf returns the innermost passage of the context's call, or of an enclosing one; nil for none.
func PassageOf(ctx context.Context) Passage { return nearest(ctx).within().passage }
