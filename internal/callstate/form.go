package callstate

import (
	"bytes"
	"fmt"

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

	identity   Identity
	identified bool
	tool       *middleware.Tool // of the call with the identity
	caller     string           // its scope

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
		f.formed, f.identified, f.bound = false, false, false
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
