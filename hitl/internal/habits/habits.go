// Package habits keeps the approvals that may follow a rule.
package habits

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Enough is how many equal approvals without a denial there are before one is offered that is not asked about again.
const Enough = 3

const (
	maxTools = 1000    // the one that was used least recently is dropped
	maxBytes = 4 << 10 // of the arguments of one call; longer ones follow no rule
)

// Habits are the last approvals of each tool, in memory.
type Habits struct{ last *lru.Cache[tool, habit] }

// A tool is the scope, the server, the name, the definition and the class of what decisions are about.
type tool [5]string

func toolOf(call *middleware.Call) tool {
	return tool{call.Scope, call.Tool.Server, call.Tool.Name(), call.Tool.Digest.String(), call.Tool.Safety().String()}
}

type habit struct {
	by    string
	calls []json.RawMessage
}

// New returns no habits.
func New() Habits {
	last, _ := lru.New[tool, habit](maxTools) // its one error is a size below 1
	return Habits{last}
}

// Decided records a decision on a call. A denial, another person and long arguments begin anew.
func (h Habits) Decided(call *middleware.Call, approved bool, by string) {
	t := toolOf(call)
	before, _ := h.last.Get(t)
	if !approved || len(call.Arguments) > maxBytes {
		h.last.Remove(t)
		return
	}
	if !safetext.SameName(before.by, by) {
		before.calls = nil
	}
	calls := append([]json.RawMessage{}, before.calls[max(0, len(before.calls)-Enough+1):]...)
	h.last.Add(t, habit{by, append(calls, bytes.Clone(call.Arguments))})
}

// Cover reports whether one person approved the last calls of the tool, without a denial, and covers holds for the
// arguments of each; they are enough for an approval that is not asked about again.
func (h Habits) Cover(call *middleware.Call, covers func(arguments json.RawMessage) bool) bool {
	its, _ := h.last.Get(toolOf(call))
	return len(its.calls) >= Enough && !slices.ContainsFunc(its.calls, func(a json.RawMessage) bool { return !covers(a) })
}

// Suggestion describes the rule that covers a call and the last ones, if one person approved them without a
// denial and they are enough for a rule, and "" if not.
func (h Habits) Suggestion(call *middleware.Call) string {
	its, _ := h.last.Get(toolOf(call))
	if len(its.calls) < Enough {
		return ""
	}
	rule := approvals.Rule(call.Arguments, its.calls)
	if rule == nil {
		return ""
	}
	return fmt.Sprintf("%s approved the last calls of this tool and denied none; you may remember: %s", cmp.Or(safetext.Line(its.by), "A person"), rule)
}
