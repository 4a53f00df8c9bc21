package middleware

import (
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
)

// An error reports facts about its call by these methods. A package reads them through the functions below and
// needs none of the types of others:
//
//	NotSent() bool              the call was certainly not sent
//	Refused() bool              the server rejected it before executing it
//	Permanent() bool            the same call would only fail again
//	RetryAfter() time.Duration  how long calling again is of no use
//	ForModel() string           what a model may read about it
//	InputRequired() (mcp.InputRequestMap, string)
//	                            what must be asked, and the state that comes back as [Call.Input]

// NotSent reports whether the call was certainly not sent. Whatever its class, it may be made again.
func NotSent(err error) bool {
	var e interface{ NotSent() bool }
	return errors.As(err, &e) && e.NotSent()
}

// Refused reports whether the server rejected the call before executing it, as with HTTP 429.
func Refused(err error) bool {
	var e interface{ Refused() bool }
	return errors.As(err, &e) && e.Refused()
}

// Permanent reports whether the same call would only fail again.
func Permanent(err error) bool {
	var e interface{ Permanent() bool }
	return errors.As(err, &e) && e.Permanent()
}

// RetryAfter returns how long calling again is of no use, and whether the error reports it.
func RetryAfter(err error) (time.Duration, bool) {
	var e interface{ RetryAfter() time.Duration }
	if !errors.As(err, &e) {
		return 0, false
	}
	d := e.RetryAfter()
	return d, d > 0
}

// ForModel returns what a model may read about the error: what happened and what the model can do now. It
// reveals nothing of the host (no paths, addresses, stacks or keys, and no text of another error). It is ""
// for an error with a text for the log alone.
func ForModel(err error) string {
	if e := interface{ ForModel() string }(nil); errors.As(err, &e) {
		return e.ForModel()
	}
	return ""
}

// A NotSentError marks the error of a call that was given up before it was sent.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return "middleware: the call was not sent: " + e.Err.Error() }

func (e *NotSentError) Unwrap() error { return e.Err }

// NotSent reports that the call was not sent.
func (e *NotSentError) NotSent() bool { return true }

// An OutcomeUnknownError reports that a call may have happened: it was sent, and no result came back.
type OutcomeUnknownError struct {
	Tool *Tool
	// Check is the instruction to the model: which effect to look for before it does anything else.
	Check string
	Err   error
}

// OutcomeUnknown returns err as the error of an attempt at call: an [*OutcomeUnknownError] if the call may have
// happened and repeating it is not harmless, and err itself otherwise.
func OutcomeUnknown(call Call, err error) error {
	if err == nil || call.Tool.Safety() == annotation.Safe || NotSent(err) || Refused(err) || Permanent(err) {
		return err
	}
	if _, ok := errors.AsType[*OutcomeUnknownError](err); ok {
		return err
	}
	return &OutcomeUnknownError{
		Tool: call.Tool,
		Check: fmt.Sprintf("%s may or may not have happened. Do not call it again now. First check with a tool that only reads "+
			"whether the change was made, and tell the user if you cannot see it.", call.Tool.ModelName()),
		Err: err,
	}
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("middleware: the outcome of %s is unknown: %v", e.Tool, e.Err)
}

// ForModel returns Check.
func (e *OutcomeUnknownError) ForModel() string { return e.Check }

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }
