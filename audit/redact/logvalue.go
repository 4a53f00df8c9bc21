package redact

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/fairlead-go/fairlead/middleware"
)

// Of returns a Redactor with the secrets among the arguments of a call.
func Of(call middleware.Call) *Redactor {
	r := new(Redactor)
	r.Arguments(call)
	return r
}

// Arguments is [Redactor.JSON] for the arguments of a call, whose schema is its tool's.
func (r *Redactor) Arguments(call middleware.Call) json.RawMessage {
	var schema any
	if call.Tool != nil && call.Tool.Definition != nil {
		schema = call.Tool.Definition.InputSchema
	}
	return r.JSON(call.Arguments, schema)
}

// A Value is the text of an error or of a panic without secrets, those of the call included. It is computed when a
// log line is written.
type Value struct {
	Call  middleware.Call
	Value any
}

func (s Value) String() string { return Of(s.Call).Text(fmt.Sprint(s.Value)) }

// LogValue returns the text for a log.
func (s Value) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Error returns an error with the text of err without recognizable secrets, such as a key in an address.
func Error(err error) error { return &redacted{err} }

type redacted struct{ err error }

func (e *redacted) Error() string { return new(Redactor).Text(e.err.Error()) }
func (e *redacted) Unwrap() error { return e.err }
