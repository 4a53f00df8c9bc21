package redact

// Error returns an error that says what err says without the secrets that can be told
// from the rest, such as a key in the address of which an error of HTTP tells.
func Error(err error) error { return &redacted{err} }

type redacted struct{ err error }

func (e *redacted) Error() string { return new(Redactor).Text(e.err.Error()) }
func (e *redacted) Unwrap() error { return e.err }
