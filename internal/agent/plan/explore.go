package plan

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// Explore looks at a server that it knows nothing about: it calls what is safe
// and needs no arguments, and leaves the rest.
type Explore struct{ looked bool }

// Name implements [Planner].
func (*Explore) Name() string { return "explore: what is safe and needs no arguments" }

// Next implements [Planner].
func (e *Explore) Next(_ context.Context, turn Turn) (Step, error) {
	if e.looked {
		return Step{Done: true}, nil
	}
	e.looked = true
	var calls []Request
	for _, tool := range turn.Tools {
		if tool.Safety() == annotation.Safe && len(Schema(tool).Required) == 0 {
			calls = append(calls, Request{Tool: tool.Name(), Why: "it is safe and needs no arguments"})
		}
	}
	say := fmt.Sprintf("%s to call.", count(len(calls), "tool"))
	if rest := len(turn.Tools) - len(calls); rest > 0 {
		say += fmt.Sprintf(" The other %d are not safe or need arguments: --repl and --script call them.", rest)
	}
	return Step{Say: say, Calls: calls}, nil
}

// A Form is what is read of a tool's input schema.
type Form struct {
	Properties map[string]struct {
		Type        any    `json:"type"` // a word or a list of words
		Description string `json:"description"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// Schema returns what a tool takes, nothing where its schema cannot be read.
func Schema(tool *middleware.Tool) Form {
	var f Form
	raw, err := json.Marshal(tool.Definition.InputSchema)
	if err != nil || json.Unmarshal(raw, &f) != nil {
		return Form{}
	}
	return f
}
