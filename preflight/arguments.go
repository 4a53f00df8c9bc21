package preflight

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// Arguments are the arguments of one call, parsed once for all rules. They are one
// JSON object in which no member is given twice.
type Arguments struct {
	members map[string]json.RawMessage
}

// parse refuses arguments that two readers could read differently.
func parse(ctx context.Context, call middleware.Call) (Arguments, error) {
	form, err := callstate.Form(callstate.Of(ctx), &call)
	if err != nil {
		return Arguments{}, err
	}
	var a Arguments
	return a, json.Unmarshal(form, &a.members) // it is an object
}

// Text returns an argument that is a text. It does not where the argument is
// missing or of another type.
func (a Arguments) Text(name string) (string, bool) {
	return textOf(a.members[name])
}

// Bool returns an argument that is true or false, as [Arguments.Text] does a text.
func (a Arguments) Bool(name string) (value, ok bool) {
	return flagOf(a.members[name])
}

// Raw returns the JSON of an argument: objects with their members in order, without
// white space. It does not where the argument is missing.
func (a Arguments) Raw(name string) (json.RawMessage, bool) {
	raw, ok := a.members[name]
	return slices.Clone(raw), ok
}

// absent reports whether an argument is certainly not there, in no case, or null.
func (a Arguments) absent(name string) bool {
	return !a.has(name) || string(a.members[name]) == "null"
}

func textOf(raw json.RawMessage) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(raw, &text) == nil
}

func flagOf(raw json.RawMessage) (value, ok bool) {
	switch string(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// has reports whether there is an argument of that name in any case.
func (a Arguments) has(name string) bool {
	for have := range a.members {
		if strings.EqualFold(have, name) {
			return true
		}
	}
	return false
}
