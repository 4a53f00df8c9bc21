package preflight

import (
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/middleware"
)

// An InvalidArgumentsError says that the tool's server called the arguments invalid
// before the call was made. The call was not sent.
type InvalidArgumentsError struct {
	Tool *middleware.Tool
	Err  error
}

func (e *InvalidArgumentsError) Error() string {
	return fmt.Sprintf("preflight: %s was not called, since its server says that the arguments are invalid; correct them and call again: %s", e.Tool, cut(e.Err.Error(), maxMessage))
}

// ForModel leaves out the server's own words, which may tell of its inside.
func (e *InvalidArgumentsError) ForModel() string {
	return e.Tool.ModelName() + " was not called: its server says that the arguments are invalid. Compare them with what the tool takes, and call it again with others."
}

// Unwrap returns what the server said.
func (e *InvalidArgumentsError) Unwrap() error { return e.Err }

// NotSent reports that the call did not leave.
func (e *InvalidArgumentsError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (e *InvalidArgumentsError) Permanent() bool { return true }

// invalid reports whether a resolver's error says that the arguments are at fault.
func invalid(err error) bool {
	e, ok := errors.AsType[interface {
		error
		InvalidArguments() bool
	}](err)
	return ok && e.InvalidArguments()
}

// A panicError is a panic of a rule's or a resolver's. What it says goes to the log
// and not to the model.
type panicError struct{ what string }

func (e *panicError) Error() string {
	return e.what + " panicked; the log of the host has the stack"
}
