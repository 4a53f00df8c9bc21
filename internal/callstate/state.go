// Package callstate keeps what the packages of a chain know about one call: the record of what happened to it, its
// canonical arguments and their binding, its class, the approval for it, the mark of its audit record and its place
// in a batch.
//
// A [State] travels in the context under the one key of this package, and is a context itself. The chain makes the
// first one of each call ([Chain.Enter]), and a middleware that is used alone does so too ([Ensure]). Facts about the whole
// call stand in a [Call], which all states of it share. An approval, a class and other facts that hold only further in
// stand in a named field of the state that gives them and of those derived from that one: they end where its context
// ends, and nothing further out sees them. A call that an executor makes inside has a state of its own, whose
// context comes from this one.
package callstate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A State is what is known about a call at one point on its way. The nil State holds nothing and drops what it is
// given. All methods are safe for concurrent use.
type State struct {
	context.Context

	call   *Call   // what all states of the call share; nil for one that is made before its call
	over   bool    // the call was handed to its executor
	inward *inward // nil for nothing; never changed once the state is in a context
}

// inward is what holds from one point on the way of a call inwards.
type inward struct {
	own

	class    *middleware.Tool // the tool as inference classified it: [WithClass]
	answer   *answer          // what preflight found: [WithAnswer]
	grant    *Grant           // the approval of the call: [WithGrant]
	mark     *Binding         // of the call that is recorded before it is made: [WithMark]
	sent     *middleware.Call // that is sent through the SDK: [WithSent]
	passage  Passage          // through audit: [Point.Pass]
	recorded int32            // how many passages of the call are outside of this point
}

// own is the part of inward that does not hold for calls that the executor makes inside.
type own struct {
	judge    Judge    // of arguments that a person edits: [WithJudge]
	limit    *limit   // on the tools that the caller may use: [WithLimit]
	admitted Admitted // to a session: [WithAdmitted]
	ticket   Ticket   // of a batch: [WithTicket]
	reading  Reading  // of the result, for the model: [WithReading]
}

func (o *own) empty() bool {
	return o.judge == nil && o.limit == nil && o.admitted == (Admitted{}) && o.ticket == nil && o.reading == nil
}

// A Point is a state that adds something, and what holds there, in one piece.
type Point struct {
	State

	holds inward
}

// A Call is what all states of one call have in common. It is small, since each call has one: what few calls need is
// made when it is needed.
type Call struct {
	chain *Chain // that the call entered first, nil for none

	// Parts of the record that every call reads or counts take no lock.
	waited   atomic.Int64 // for people, in nanoseconds
	attempts atomic.Int32
	handed   atomic.Bool // left is in use

	mu       sync.Mutex // guards what follows
	recorded int32      // how many passages through audit have begun

	// The part of the record that most calls have.
	cached    bool
	tool      *middleware.Tool
	age       time.Duration
	freshness annotation.Freshness
	decisions []Decision
	pauser    Pauser // of the retry that is furthest in, nil without one

	rest  *Record // nil until a part of it is written that is not above
	facts *facts  // nil until something is computed from the arguments

	// Space for most calls.
	decision [1]Decision
	left     State
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
	if s, ok := ctx.(*State); ok { // as for most middlewares, which add nothing to the context
		return s
	}
	s, _ := ctx.Value(key{}).(*State)
	return s
}

// within returns what holds at a point, which is read-only.
func (s *State) within() *inward {
	if s == nil || s.inward == nil {
		return &nothing
	}
	return s.inward
}

var nothing inward

// Of returns the state of the call that ctx belongs to, nil if there is none or if the call has been handed to its
// executor.
func Of(ctx context.Context) *State {
	if s := nearest(ctx); s != nil && !s.over {
		return s
	}
	return nil
}

// derive returns a point further in, of the same call, where the same holds so far.
func derive(ctx context.Context) *Point {
	p := new(Point)
	p.derive(ctx)
	return p
}

func (p *Point) derive(ctx context.Context) {
	outer := nearest(ctx)
	p.holds = *outer.within()
	p.State = State{Context: ctx, inward: &p.holds}
	if outer != nil && !outer.over {
		p.call = outer.call
	}
}

// leave ends what holds for the call alone.
func (p *Point) leave() { p.over, p.holds.own = true, own{} }

// first is the first state of a call, and what all of them share, in one piece.
type first struct {
	State

	shared Call
}

// Begin returns the first state of a call.
func Begin(ctx context.Context) *State {
	outer, f := nearest(ctx), new(first)
	f.shared.decisions = f.shared.decision[:0]
	f.State = State{Context: ctx, call: &f.shared}
	if outer != nil && outer.inward != nil {
		if f.inward = outer.inward; f.inward.recorded != 0 {
			f.inward = new(*f.inward)
			f.inward.recorded = 0
		}
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

// A Chain is one that calls enter. It may be a part of another one.
type Chain struct {
	Judge Judge // of arguments that a person edits; nil for none
}

// Enter returns the context of a call that enters the chain, with a new state unless ctx has that of a call of the same
// tool.
func (c *Chain) Enter(ctx context.Context, call *middleware.Call) context.Context {
	if s := Of(ctx); !s.live() || !s.call.same(call.Tool) {
		s = Begin(ctx)
		s.call.chain, s.call.tool = c, call.Tool
		ctx = s
	}
	if c.Judge == nil {
		return ctx
	}
	return WithJudge(ctx, c.Judge)
}

// live reports whether the state belongs to a call.
func (s *State) live() bool { return s != nil && s.call != nil }

// same reports whether the record is that of a call of the tool, or of a call without a tool.
func (c *Call) same(tool *middleware.Tool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.tool
	return have == nil || tool != nil && have.Server == tool.Server && have.Name() == tool.Name()
}

// Leave returns the context for the executor of the call. A call that the executor makes has a state of its own.
func Leave(ctx context.Context) context.Context {
	s := Of(ctx)
	switch {
	case s == nil, s.call == nil && s.within().empty():
		return ctx
	case s.call != nil && s.within().empty() && s.call.handed.CompareAndSwap(false, true):
		s.call.left = State{Context: ctx, call: s.call, over: true, inward: s.inward}
		return &s.call.left
	}
	p := derive(ctx)
	p.leave()
	return &p.State
}

// Exit returns the context for what is behind the chain: an executor, or the rest of the chain that this one is a part
// of. For an executor it leaves the call.
func (c *Chain) Exit(ctx context.Context) context.Context {
	if s := Of(ctx); s.live() && s.call.chain == c {
		return Leave(ctx)
	}
	return ctx
}

// Detach returns the context of a call for work that goes on when its caller has left: with what ctx carries and its
// deadline, but without its cancellation. A zero deadline sets no bound. It is a state, so that what is further in finds
// that without a search through contexts.
func Detach(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	d := &detached{caller: uncancelled{ctx}}
	if s := nearest(ctx); s != nil {
		d.State = *s
	}
	var cancel context.CancelFunc
	if deadline.IsZero() {
		d.Context, cancel = context.WithCancel(&d.caller)
	} else {
		d.Context, cancel = context.WithDeadline(&d.caller, deadline)
	}
	if nearest(ctx) == nil {
		return d.Context, cancel
	}
	return &d.State, cancel
}

// detached is a state, and the context of the caller, in one piece.
type detached struct {
	State

	caller uncancelled
}

// uncancelled is a context's values alone, as context.WithoutCancel returns them.
type uncancelled struct{ context.Context }

func (*uncancelled) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (*uncancelled) Done() <-chan struct{}                   { return nil }
func (*uncancelled) Err() error                              { return nil }

// Sending returns the state of the call that is handed to its executor, nil without one. Facts about its arguments
// are still valid.
func Sending(ctx context.Context) *State { return nearest(ctx) }

// WithSent returns a context for what sends the call through the SDK.
func WithSent(ctx context.Context, call *middleware.Call) context.Context {
	p := derive(ctx)
	p.holds.sent = call
	p.leave()
	return &p.State
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
	p := derive(ctx)
	p.holds.ticket = k
	return &p.State
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
	p := derive(ctx)
	p.holds.admitted = a
	return &p.State
}

// AdmittedTo returns where the context's call was admitted, the zero value for nowhere.
func AdmittedTo(ctx context.Context) Admitted { return Of(ctx).within().admitted }

// A Passage is a call on its way through an audit trail, from its first record to its last.
type Passage interface {
	// Outside returns the passage outside of this one, of another trail or of an enclosing call; nil for none.
	Outside() Passage
}

// Pass makes p the point where a passage of the context's call through audit begins. A call that a host makes again
// begins with a record of its own.
func (p *Point) Pass(ctx context.Context, through Passage) { //nolint:contextcheck // a state is ctx, and more
	ctx, s := Ensure(ctx)
	if !s.call.passes(s.within().recorded) {
		s = Begin(ctx)
		ctx = s
		s.call.passes(0)
	}
	p.derive(ctx)
	p.holds.passage = through
	p.holds.recorded++
}

// passes counts a passage. It is false if one has begun that is not outside of this one.
func (c *Call) passes(outside int32) bool {
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
