package budget

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// ErrStopped is in the tree of every error that stops a call in this package.
var ErrStopped = errors.New("budget: stopped")

// A Reason names what was used up.
type Reason string

// The reasons.
const (
	Calls Reason = "calls"
	Cost  Reason = "cost"
	Time  Reason = "time"
	Loop  Reason = "loop"
)

// A StoppedError reports which call was stopped, why, and when it may go on. The call was not sent.
type StoppedError struct {
	Tool   *middleware.Tool
	Reason Reason
	// Spent and Limit are those that a limit stops by.
	Spent Spent
	Limit Limit
	// Times is how often the loop went round, Turns how many calls take turns in it, and SameAnswer whether each
	// always had the same answer.
	Times, Turns int
	SameAnswer   bool
	// Denied is set for a loop whose calls were not approved.
	Denied bool
	// After is when it may go on, for a limit from the last call that was made; 0 means never, because one call
	// costs more than the whole budget.
	After time.Duration
}

func (e *StoppedError) Error() string {
	why, _ := e.text()
	return fmt.Sprintf("budget: %s was stopped: %s", e.Tool, why)
}

// NotSent reports that the call was not sent.
func (*StoppedError) NotSent() bool { return true }

func (e *StoppedError) ForModel() string {
	why, instead := e.text()
	name := strings.TrimPrefix(e.Tool.ModelName(), "__") // a tool that is not there may have no server
	return fmt.Sprintf("%s was stopped: %s. %s.", name, why, instead)
}

func (e *StoppedError) text() (why, instead string) {
	if e.Reason == Loop && e.Denied { // a wait lets it through to the person alone
		return fmt.Sprintf("%s, and it was not approved", e.round()), "Do not call it again unless the user asks for it; ask what to do instead"
	}
	if e.Reason == Loop {
		return fmt.Sprintf("%s; this call is let through again in %v", e.round(), shown(e.After)),
			"Use the answer that you have, change the arguments, or do something else"
	}
	if e.After <= 0 {
		return fmt.Sprintf("one call of it costs more than all that this session may spend (%v)", e.Limit.Cost), "Use another tool, or tell the user"
	}
	return fmt.Sprintf("this session has used up %s; the budget begins anew in %v if no call is made until then", e.used(), shown(e.After)),
		"Finish with what you have, and tell the user what is missing"
}

func (e *StoppedError) round() string {
	switch {
	case e.Turns > 1:
		return fmt.Sprintf("the last calls were the same %d in turn, %d times, each with the same answer", e.Turns, e.Times)
	case e.SameAnswer:
		return fmt.Sprintf("it was called %d times in a row with the same arguments, and the answer was the same each time", e.Times)
	}
	return fmt.Sprintf("it was called %d times in a row with the same arguments", e.Times)
}

func (e *StoppedError) used() string {
	switch e.Reason {
	case Cost:
		return fmt.Sprintf("%v of the cost of %v that it may have, and this call costs more than is left", e.Spent.Cost, e.Limit.Cost)
	case Time:
		return fmt.Sprintf("the %v that its calls may take", e.Limit.Time)
	}
	return fmt.Sprintf("the %d calls that it may make", e.Limit.Calls)
}

// shown rounds up to whole seconds, so that a call which waits that long is let through.
func shown(d time.Duration) time.Duration { return fault.RoundUp(d, time.Second) }

func (e *StoppedError) Is(target error) bool { return target == ErrStopped }

// Permanent reports whether no wait will help.
func (e *StoppedError) Permanent() bool { return e.After <= 0 }

// RetryAfter returns how long it is of no use to make this call again, 0 if it never is of use.
func (e *StoppedError) RetryAfter() time.Duration { return e.After }
