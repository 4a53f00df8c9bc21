package preflight

import (
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// An InvalidArgumentsError says that the tool's server called the arguments invalid
// before the call was made. The call was not sent.
type InvalidArgumentsError struct {
	fault.Final

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

// invalid reports whether a resolver's error says that the arguments are at fault.
func invalid(err error) bool {
	e, ok := errors.AsType[interface {
		error
		InvalidArguments() bool
	}](err)
	return ok && e.InvalidArguments()
}
