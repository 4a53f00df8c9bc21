package audit

import (
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// ErrRefused is in the tree of every error by which this package refuses a call.
var ErrRefused = errors.New("audit: refused")

// A RefusedError says that a call was not made because it could not be written down
// before. Its text leaves out what the sink said, which is for the log.
type RefusedError struct {
	fault.Final

	Tool *middleware.Tool
	Err  error // what the sink said
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("audit: %s was refused: its calls must be written down before they are made, and this one could not be; "+
		"do not call it again, tell the user that the record of calls does not work", e.Tool)
}

// ForModel says what the text says, with the tool's name as the model knows it.
func (e *RefusedError) ForModel() string {
	return e.Tool.ModelName() + " was not called: its calls must be written down before they are made, and this one could not be. " +
		"Do not call it again; tell the user that the record of calls does not work."
}

// Is reports whether target is [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns why the call could not be written down.
func (e *RefusedError) Unwrap() error { return e.Err }

var (
	errPanicked     = errors.New("audit: it panicked, or its goroutine was ended")
	errSlow         = errors.New("audit: the sink has not taken it in time")
	errStuck        = errors.New("audit: the sink holds too many records")
	errSinkPanicked = errors.New("audit: the sink panicked")
)
