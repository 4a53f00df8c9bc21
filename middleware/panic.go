package middleware

import "fmt"

// A PanicError ends a call in which something further in panicked: a middleware, the executor or a func of the host.
// It reports no facts about the call, even if Value is an error that does. If the call is not harmless to repeat, an
// [*OutcomeUnknownError] holds it.
type PanicError struct {
	Tool *Tool
	// Value is what was given to panic, and Stack the stack of the goroutine. They are for the log: the text of the
	// error repeats neither, since it may reach a model.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("fairlead: the call of %s panicked; the log of the host has the stack", e.Tool)
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// NotSent reports that the call may have been sent.
func (*PanicError) NotSent() bool { return false }

// Refused reports that nothing is known about a refusal.
func (*PanicError) Refused() bool { return false }

// Permanent reports that the failure is not final.
func (*PanicError) Permanent() bool { return false }
