package redact

import (
	"fmt"
	"log/slog"

	"github.com/fairlead-go/fairlead/middleware"
)

// Of returns a Redactor that knows the secrets among the arguments of a call.
func Of(call middleware.Call) *Redactor {
	var schema any
	if call.Tool != nil && call.Tool.Definition != nil {
		schema = call.Tool.Definition.InputSchema
	}
	r := new(Redactor)
	r.JSON(call.Arguments, schema)
	return r
}

// Said is what an error, or the value of a panic, says of a call: its text without
// secrets, those that the call was made with included. Servers and drivers repeat
// what they were sent. It is worked out when a log line is written, and not for one
// that nobody reads.
type Said struct {
	Call  middleware.Call
	Value any
}

// String returns the text.
func (s Said) String() string { return Of(s.Call).Text(fmt.Sprint(s.Value)) }

// LogValue returns the text for a log.
func (s Said) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Error returns an error that says what err says without the secrets that can be told
// from the rest, such as a key in the address of which an error of HTTP tells.
func Error(err error) error { return &redacted{err} }

type redacted struct{ err error }

func (e *redacted) Error() string { return new(Redactor).Text(e.err.Error()) }
func (e *redacted) Unwrap() error { return e.err }
