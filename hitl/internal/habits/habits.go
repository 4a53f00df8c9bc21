// Package habits keeps the approvals that may follow a rule.
package habits

import (
	"bytes"
	"encoding/json"

	"github.com/fairlead-go/fairlead/safetext"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	enough   = 3       // equal approvals without a denial
	maxTools = 1000    // the one that was used least recently is dropped
	maxBytes = 4 << 10 // of the arguments of one call; longer ones follow no rule
)

// A Tool is what decisions are about.
type Tool struct{ Scope, Server, Name, Definition, Class string }

// Habits are the last approvals of each tool, in memory.
type Habits struct{ last *lru.Cache[Tool, habit] }

type habit struct {
	by    string
	calls []json.RawMessage
}

// New returns no habits.
func New() Habits {
	last, err := lru.New[Tool, habit](maxTools)
	if err != nil {
		panic(err) // the size is positive
	}
	return Habits{last}
}

// Decided records a decision. A denial, another person and long arguments begin anew.
func (h Habits) Decided(t Tool, approved bool, by string, arguments json.RawMessage) {
	before, _ := h.last.Get(t)
	if !approved || len(arguments) > maxBytes {
		h.last.Remove(t)
		return
	}
	if !safetext.SameName(before.by, by) {
		before.calls = nil
	}
	calls := append([]json.RawMessage{}, before.calls[max(0, len(before.calls)-enough+1):]...)
	h.last.Add(t, habit{by, append(calls, bytes.Clone(arguments))})
}

// Last returns the last calls, if one person approved them without a denial and they are enough for a rule.
func (h Habits) Last(t Tool) (calls []json.RawMessage, by string) {
	its, _ := h.last.Get(t)
	if len(its.calls) < enough {
		return nil, ""
	}
	return its.calls, its.by
}
