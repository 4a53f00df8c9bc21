package batch

import (
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// Why a call of a batch was not made.
var (
	ErrTooMany    = errors.New("too many calls in one turn")
	ErrRepeatedID = errors.New("another call of the turn has the same id")
)

var errEnded = errors.New("batch: the call ended its goroutine")

// A NotMadeError says that a call of a batch was not made, for the reason that it
// wraps: [ErrTooMany] or [ErrRepeatedID].
type NotMadeError struct {
	fault.Unsent

	Tool *middleware.Tool
	Err  error
}

func (e *NotMadeError) Error() string {
	return fmt.Sprintf("batch: %s was not called: %v", e.Tool, e.Err)
}

// ForModel says what the model can do about it.
func (e *NotMadeError) ForModel() string {
	name := e.Tool.ModelName()
	if errors.Is(e.Err, ErrTooMany) {
		return name + " was not called: " + e.Err.Error() + ". Nothing has happened. If it is still needed, call it in the next turn, with fewer calls."
	}
	return name + " was not called: another call of this turn has the same id. Nothing has happened. Call it again with an id of its own."
}

// Unwrap returns the reason.
func (e *NotMadeError) Unwrap() error { return e.Err }
