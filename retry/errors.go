package retry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
)

// OutcomeUnknownError is the end of a call that may have happened.
type OutcomeUnknownError = middleware.OutcomeUnknownError

// ErrExhausted is in the tree of the error of a call that failed as often as it
// was allowed to, or had time for.
var ErrExhausted = errors.New("retry: no attempt is left")

// An ExhaustedError is the end of a call that failed as often as it was allowed
// to, or had time for. It is final, so that a second retry further out does not multiply the
// attempts of the first.
type ExhaustedError struct {
	Tool     *middleware.Tool
	Attempts int
	Err      error // of the last attempt
	// OverBudget says that another attempt was left and the server's budget for
	// repetitions was spent.
	OverBudget bool
}

func (e *ExhaustedError) Error() string {
	if e.OverBudget {
		return fmt.Sprintf("retry: %s failed and is not repeated, since too many calls of its server fail; leave the server alone for a while: %v", e.Tool, e.Err)
	}
	return fmt.Sprintf("retry: %s failed %d times, the last time with: %v", e.Tool, e.Attempts, e.Err)
}

// ForModel says that trying again was tried, and what the last error has to say.
func (e *ExhaustedError) ForModel() string {
	text := fmt.Sprintf("%s failed %d times. Leave it alone for a while, use another tool, or tell the user.", e.Tool.ModelName(), e.Attempts)
	if e.OverBudget {
		text = fmt.Sprintf("%s failed, and so do too many calls of its server. Leave that server alone for a while, or tell the user.", e.Tool.ModelName())
	}
	return strings.TrimSpace(text + " " + middleware.ForModel(e.Err))
}

// Is reports whether target is [ErrExhausted].
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

// Unwrap returns the error of the last attempt.
func (e *ExhaustedError) Unwrap() error { return e.Err }

// Permanent reports that the call is not to be made once more.
func (e *ExhaustedError) Permanent() bool { return true }
