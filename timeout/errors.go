package timeout

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

// An Error says that an attempt got no answer in its time. errors.Is finds
// [context.DeadlineExceeded] in it.
type Error struct {
	Tool *middleware.Tool
	// After is how long the attempt was given.
	After time.Duration

	err error // how the attempt ended
}

func (e *Error) Error() string {
	return fmt.Sprintf("timeout: %s gave no answer within %v; if it usually takes longer, raise its estimated duration or timeout.Options.Default", e.Tool, e.After)
}

// ForModel says how long the tool was waited for.
func (e *Error) ForModel() string {
	return fmt.Sprintf("%s gave no answer within %v. Ask it for less, use another tool, or tell the user.", e.Tool.ModelName(), e.After)
}

// Is reports whether target is [context.DeadlineExceeded].
func (e *Error) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout reports true, as net.Error has it.
func (e *Error) Timeout() bool { return true }

// Unwrap returns the error with which the attempt ended, nil while it runs.
func (e *Error) Unwrap() error { return e.err }
