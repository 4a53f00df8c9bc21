package callstate

import (
	"fmt"
	"hash/maphash"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

// Observe is called with "form", "binding" or "lookup" each time that the canonical arguments or the binding of
// a call are computed or a catalog is consulted. It is for tests, which set it before the first call.
var Observe = func(string) {}

// facts are what was computed from the arguments that the call had last.
type facts struct {
	spelling spelling // of the arguments

	form   []byte
	err    error // why there is no form, and no identity
	formed bool

	identity   Identity
	hash       uint64 // of the form
	identified bool
	tool       *middleware.Tool // of the call with the identity
	caller     string           // its scope

	binding             Binding
	bound               bool
	server, name, scope string
	digest              middleware.Digest

	room [256]byte // for the form of most calls
}

// A spelling tells whether arguments are the bytes that they were, without a copy of them, for a middleware that writes
// to what it was given. The seed of the hash is secret, so no two texts with one spelling can be made.
type spelling struct {
	length int
	hash   uint64
}

var seed = maphash.MakeSeed()

func spellingOf(arguments []byte) spelling { return spelling{len(arguments), Hash(arguments)} }

// Hash returns the same for the same bytes, wherever they are. It differs from process to process.
func Hash(arguments []byte) uint64 { return maphash.Bytes(seed, arguments) }

// of returns the facts of these arguments. The lock is held.
func (c *Call) of(arguments []byte) *facts {
	if now := spellingOf(arguments); c.facts == nil || c.facts.spelling != now {
		c.facts = &facts{spelling: now} // a new one, since a form that was handed out stays what it is
	}
	return c.facts
}

// formOf returns the facts of these arguments with their form. The lock is held.
func (c *Call) formOf(arguments []byte) (*facts, error) {
	f := c.of(arguments)
	if !f.formed && f.err == nil {
		Observe("form")
		f.form, f.err = canonical.AppendObject(f.room[:0], arguments)
		f.formed = true
	}
	return f, f.err
}

// Form returns the canonical form of the call's arguments, or an [*ArgumentsError] if they are not one unambiguous JSON
// object. The form is read-only. It is computed once, and again only after a change of the arguments; without a state,
// each time.
func Form(s *State, call *middleware.Call) (form []byte, err error) {
	if s.live() {
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

// FormHash returns a hash of the form of the call's arguments, which is another in every process. The state is one of a
// call.
func FormHash(s *State, call *middleware.Call) (uint64, error) {
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	f, err := s.call.identityOf(call)
	return f.hash, err
}

// IdentityOf returns the identity of a call that has a tool, or an [*ArgumentsError] as [Form] does. The state is one of
// a call.
func IdentityOf(s *State, call *middleware.Call) (Identity, error) {
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	f, err := s.call.identityOf(call)
	return f.identity, err
}

// identityOf returns the facts of a call with its identity, and with its form. The lock is held.
func (c *Call) identityOf(call *middleware.Call) (*facts, error) {
	f := c.of(call.Arguments)
	switch {
	case f.err != nil:
	case f.identified && f.tool == call.Tool && f.caller == call.Scope:
		return f, nil
	default:
		c.identify(call)
	}
	if f.err != nil {
		return f, &ArgumentsError{call.Tool, f.err}
	}
	f.identified, f.tool, f.caller = true, call.Tool, call.Scope
	return f, nil
}

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
