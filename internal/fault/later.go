package fault

import (
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/middleware"
)

// Later returns the error of the last attempt at a call as that of the whole call. If an earlier attempt may have been
// executed, nobody reads that the call was not sent or was refused, which is true of the last attempt alone. earlier is the
// error of that attempt, nil for none.
func Later(tool *middleware.Tool, earlier, err error) error {
	if earlier == nil || !middleware.NotSent(err) && !middleware.Refused(err) {
		return err
	}
	return &laterError{tool: tool, earlier: earlier, last: err}
}

type laterError struct {
	tool          *middleware.Tool
	earlier, last error
}

func (e *laterError) Error() string {
	return fmt.Sprintf("%v; and the attempt after that: %v", e.earlier, e.last)
}

// Unwrap returns the error of the last attempt, which says when another one is of use.
func (e *laterError) Unwrap() error { return e.last }

// NotSent reports that the call was sent, in an earlier attempt.
func (e *laterError) NotSent() bool { return false }

// Refused reports that an earlier attempt may have been executed.
func (e *laterError) Refused() bool { return false }

// ForModel returns what became of both attempts. An error that turned the last one away has the words for that by a method
// Turned: why, and what the model can do.
func (e *laterError) ForModel() string {
	why, next := "its server turned that away", "Call it again later, or tell the user."
	if middleware.NotSent(e.last) {
		why = "that did not leave"
	}
	if middleware.Permanent(e.last) {
		next = "The same call would only fail again; tell the user."
	}
	if t := interface{ Turned() (why, next string) }(nil); errors.As(e.last, &t) {
		if its, then := t.Turned(); its != "" {
			why, next = its, then
		}
	}
	return fmt.Sprintf("%s may have run, but no result came. It was tried again, and %s. %s", e.tool.ModelName(), why, next)
}
