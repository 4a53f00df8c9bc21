package session

import "github.com/fairlead-go/fairlead/middleware"

// Ran returns err as the end of a tool that has run in this process. What an error says
// of a call that the tool made itself, as that it was not sent or that a server refused
// it, it does not say of the tool, which may have done something before.
func Ran(err error) error {
	if middleware.NotSent(err) || middleware.Refused(err) || middleware.Permanent(err) {
		return &ranError{err}
	}
	return err
}

type ranError struct{ error }

func (e *ranError) Unwrap() error { return e.error }
func (*ranError) NotSent() bool   { return false }
func (*ranError) Refused() bool   { return false }
func (*ranError) Permanent() bool { return false }

// Unsendable returns err as the end of a call that did not leave and never could.
func Unsendable(err error) error { return unsendableError{err} }

type unsendableError struct{ error }

func (e unsendableError) Unwrap() error { return e.error }
func (unsendableError) NotSent() bool   { return true }
func (unsendableError) Permanent() bool { return true }
