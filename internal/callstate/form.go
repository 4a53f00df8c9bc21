package callstate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

// Observe is called with "form", "binding" or "lookup" each time that the canonical arguments or the binding of
// a call are computed or a catalog is consulted. It is for tests, which set it before the first call.
var Observe = func(string) {}

// facts are what was computed from the arguments that the call had last.
type facts struct {
	text []byte // a private copy, so that a change of the bytes is noticed; nil before the first

	form   []byte
	err    error
	formed bool
	given  bool // formRoom has been handed out
	sum    Sum  // of the form
	summed bool

	binding             Binding
	bound               bool
	server, name, scope string
	digest              middleware.Digest

	textRoom, formRoom [maxInline]byte
}

// maxInline is how long arguments may be that need no allocation of their own.
const maxInline = 256

// of returns the facts of these arguments. The lock is held.
func (c *shared) of(arguments []byte) *facts {
	if c.facts == nil {
		c.facts = new(facts)
	}
	f := c.facts
	if f.text == nil || !bytes.Equal(f.text, arguments) {
		f.text = append(f.textRoom[:0], arguments...)
		f.formed, f.summed, f.bound = false, false, false
	}
	return f
}

// formOf returns the form of these arguments. The lock is held.
func (c *shared) formOf(arguments []byte) (*facts, error) {
	f := c.of(arguments)
	if !f.formed {
		Observe("form")
		into := f.formRoom[:0]
		if f.given {
			into = nil
		}
		f.form, f.err = canonical.AppendObject(into, arguments)
		f.formed, f.given = true, true
	}
	return f, f.err
}

// Form returns the canonical form of the call's arguments, or an [*ArgumentsError] if they are not one
// unambiguous JSON object. The form is read-only. If the record of the call is read, it is computed once.
func Form(s *State, call *middleware.Call) ([]byte, error) {
	var form []byte
	var err error
	if s.HasRecord() {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		var f *facts
		f, err = s.call.formOf(call.Arguments)
		form = f.form
	} else {
		Observe("form")
		form, err = canonical.AppendObject(nil, call.Arguments)
	}
	if err != nil {
		return nil, &ArgumentsError{call.Tool, err}
	}
	return form, nil
}

// A Sum is the SHA-256 of the canonical form of arguments: it identifies them however they are written.
type Sum [sha256.Size]byte

// SumOf returns the sum of the form, as [Form] returns it. It is computed once if the record of the call is read, or
// if a caller further out has used [WithSum].
func SumOf(ctx context.Context, call *middleware.Call) (Sum, error) {
	if k, ok := Own[*keptSum](ctx); ok && k.of == spanOf(call.Arguments) {
		return k.sum, nil
	}
	return sumOf(Of(ctx), call)
}

// WithSum is [SumOf], and returns a context with which it is not computed again further in unless the arguments
// change.
func WithSum(ctx context.Context, call *middleware.Call) (context.Context, Sum, error) {
	s := Of(ctx)
	sum, err := sumOf(s, call)
	if err != nil || s.HasRecord() { // which has it
		return ctx, sum, err
	}
	k := &keptSum{of: spanOf(call.Arguments), sum: sum}
	k.State = derive(ctx, k)
	return &k.State, sum, nil
}

// A keptSum is a sum without a record.
type keptSum struct {
	State // the one that carries it, so that both are one piece

	of  span
	sum Sum
}

// A span tells whether arguments are those of before, without a copy of them: by where they are, and by a hash with
// a secret seed, for a middleware that writes to what it was given.
type span struct {
	begin  *byte
	length int
	hash   uint64
}

var spanSeed = maphash.MakeSeed()

func spanOf(arguments []byte) span {
	if len(arguments) == 0 {
		return span{}
	}
	return span{&arguments[0], len(arguments), maphash.Bytes(spanSeed, arguments)}
}

func sumOf(s *State, call *middleware.Call) (sum Sum, err error) {
	if s.HasRecord() {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		var f *facts
		if f, err = s.call.formOf(call.Arguments); err == nil && !f.summed {
			f.sum, f.summed = sha256.Sum256(f.form), true
		}
		sum = f.sum
	} else {
		Observe("form")
		room := formRooms.Get().(*[]byte)
		var form []byte
		if form, err = canonical.AppendObject((*room)[:0], call.Arguments); err == nil {
			sum = sha256.Sum256(form)
		}
		if *room = form; cap(form) <= maxRoom {
			formRooms.Put(room)
		}
	}
	if err != nil {
		return Sum{}, &ArgumentsError{call.Tool, err}
	}
	return sum, nil
}

var formRooms = sync.Pool{New: func() any { return new([]byte) }}

// maxRoom keeps one long text from pinning its room.
const maxRoom = 4 << 20

// An ArgumentsError reports arguments that the model wrote and can correct. Err reports that the call was not sent.
type ArgumentsError struct {
	Tool *middleware.Tool
	Err  error
}

func (e *ArgumentsError) Error() string {
	return fmt.Sprintf("the arguments of %s are refused: %v; send one JSON object, each member once", e.Tool, e.Err)
}

func (e *ArgumentsError) Unwrap() error { return e.Err }

func (e *ArgumentsError) ForModel() string {
	return fmt.Sprintf("The arguments for %s are refused: %v. Send one JSON object, each member once.", e.Tool.ModelName(), e.Err)
}
