// Package callstate keeps what the packages of a chain know about one call: the record
// of what happened to it, its canonical arguments and their binding, its class, the
// approvals for it, the mark of its audit record and its place in a batch.
//
// A [State] travels in the context under the one key of this package. It is a context itself and never changes
// what an enclosing caller sees of grants, answers and classes: those hold further in only. The record and the
// canonical arguments are shared by all states of one call.
package callstate

import (
	"context"
	"slices"
	"sync"

	"github.com/fairlead-go/fairlead/middleware"
)

// A State is what is known about a call at one point on its way. The nil State holds
// nothing and drops what it is given. All methods are safe for concurrent use.
type State struct {
	context.Context

	call  *shared // what all states of the call share; nil if its record is not read
	outer *State  // what this one was derived from: of the same call or an enclosing one
	over  bool    // the call was handed to its executor

	// added is the fact of this state, or nil: a *middleware.Tool (the class), *answer, Judge,
	// *Grant, Binding (audit's mark), limit, *keptIdentity, *middleware.Call (sent through the SDK),
	// or what another package keeps of the call. Everything else is looked up further out.
	added any
}

type key struct{}

// Value returns the state itself for the key of this package.
func (s *State) Value(k any) any {
	if k == (key{}) {
		return s
	}
	return s.Context.Value(k)
}

// nearest returns the innermost state of the context, of this call or an enclosing one.
func nearest(ctx context.Context) *State {
	s, _ := ctx.Value(key{}).(*State)
	return s
}

// Of returns the state of the call that ctx belongs to, nil if there is none or if the
// call has been handed to its executor.
func Of(ctx context.Context) *State {
	if s := nearest(ctx); s != nil && !s.over {
		return s
	}
	return nil
}

// derive returns a state further in, of the same call, which adds a fact.
func derive(ctx context.Context, added any) State {
	s := State{Context: ctx, outer: nearest(ctx), added: added}
	if s.outer != nil && !s.outer.over {
		s.call = s.outer.call
	}
	return s
}

// find returns the innermost fact of one type that matches, of enclosing calls as well. A nil match takes any.
func find[T any](s *State, match func(T) bool) (fact T, ok bool) {
	for ; s != nil; s = s.outer {
		if fact, ok := s.added.(T); ok && (match == nil || match(fact)) {
			return fact, true
		}
	}
	return fact, false
}

// shared is what all states of one call have in common. The arrays give most calls their space in the one
// allocation that makes the state.
type shared struct {
	mu      sync.Mutex // guards what follows
	record  Record
	readers []string
	facts   *facts // nil until the first of them is needed

	// Space for most calls.
	decisions [4]Decision
	names     [3]string
	left      State
}

// A Root is the first state of a call. A package that keeps something for each call
// embeds one, which saves an allocation.
type Root struct {
	State

	own shared
}

// Begin returns the first state of a call, with a record of its own.
func Begin(ctx context.Context) *State { return new(Root).begin(ctx) }

func (r *Root) begin(ctx context.Context) *State {
	r.own.record.Decisions, r.own.readers = r.own.decisions[:0], r.own.names[:0]
	r.State = State{Context: ctx, outer: nearest(ctx), call: &r.own}
	return &r.State
}

// Ensure returns the state of the call, a new one if it has none with a record, and the
// context that carries it.
func Ensure(ctx context.Context) (context.Context, *State) {
	if s := Of(ctx); s.HasRecord() {
		return ctx, s
	}
	s := Begin(ctx)
	return s, s
}

// Join returns the state of the call for a reader of its record, and the context that
// carries it. It makes r that state if the context has none, or if a reader of the same name has joined that one,
// which then belongs to an enclosing call.
func (r *Root) Join(ctx context.Context, reader string) (context.Context, *State) {
	if s := Of(ctx); s.admit(reader) {
		return ctx, s
	}
	s := r.begin(ctx)
	s.admit(reader)
	return s, s
}

func (s *State) admit(reader string) bool {
	if s == nil || s.call == nil {
		return false
	}
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	if slices.Contains(s.call.readers, reader) {
		return false
	}
	s.call.readers = append(s.call.readers, reader)
	return true
}

// Enter returns the context of a call that enters a chain, with a new state unless ctx has that of a call of
// the same tool. Judge classifies arguments that a person edits; nil for nothing that does.
func Enter(ctx context.Context, call *middleware.Call, judge Judge) context.Context {
	if s := Of(ctx); s.HasRecord() && s.call.same(call.Tool) {
		if judge == nil {
			return ctx
		}
		return WithJudge(ctx, judge)
	}
	s := Begin(ctx)
	s.call.record.Tool = call.Tool
	if judge != nil {
		s.added = judge
	}
	return s
}

// same reports whether the record is that of a call of the tool, or of a call without a tool.
func (c *shared) same(tool *middleware.Tool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.record.Tool
	return have == nil || tool != nil && have.Server == tool.Server && have.Name() == tool.Name()
}

// Leave returns the context for the executor of the call. A call that the executor makes has a state of its own.
func Leave(ctx context.Context) context.Context {
	s := Of(ctx)
	if s == nil || s.call == nil && JudgeOf(ctx) == nil {
		return ctx
	}
	if s.call != nil {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		if left := &s.call.left; left.Context == nil { // it has not been made before
			*left = State{Context: ctx, outer: s, over: true}
			return left
		}
	}
	return &State{Context: ctx, outer: s, over: true}
}

// WithSent returns a context for what sends the call through the SDK.
func WithSent(ctx context.Context, call *middleware.Call) context.Context {
	s := derive(ctx, call)
	s.over, s.call = true, nil
	return &s
}

// Sent returns the ID and the scope of the call that an executor further out is sending, for a chain beneath a
// session of the SDK, whose types do not carry them.
func Sent(ctx context.Context) (id, scope string) {
	if call, ok := find[*middleware.Call](nearest(ctx), nil); ok {
		return call.ID, call.Scope
	}
	return "", ""
}

// Pass makes r the state of the call for a reader of its record, and has it carry what
// the reader keeps of the call.
func (r *Root) Pass(ctx context.Context, reader string, kept any) {
	if ctx, joined := r.Join(ctx, reader); joined != &r.State {
		r.State = derive(ctx, nil)
	}
	r.added = kept
}

// Kept returns what a package keeps of the call, or of an enclosing one, as a value of its
// own type that matches.
func Kept[T any](ctx context.Context, match func(T) bool) (T, bool) {
	return find(nearest(ctx), match)
}

// Keep returns a context that carries what a package keeps of the call, as a value of a type of its own.
func Keep(ctx context.Context, kept any) context.Context {
	s := derive(ctx, kept)
	return &s
}

// Own returns the innermost of what a package keeps of the call, and not of an enclosing one.
func Own[T any](ctx context.Context) (kept T, ok bool) {
	for s := Of(ctx); s != nil && !s.over; s = s.outer {
		if kept, ok := s.added.(T); ok {
			return kept, true
		}
	}
	return kept, false
}

// Sending returns the state of the call that is handed to its executor, nil without one. Facts about its arguments
// are still valid.
func Sending(ctx context.Context) *State {
	s := nearest(ctx)
	if s != nil && s.over {
		s = s.outer
	}
	return s
}
