// Package plan decides what an agent does next.
//
// A [Planner] proposes calls; it never makes one. Whoever runs it makes them
// through a chain and tells it how they came out, so that a planner of rules, a
// person at a prompt, a file and a model are driven by one loop and kept in
// check by one chain.
package plan

import (
	"context"
	"encoding/json"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Planner decides what to do next. It need not be safe for concurrent use.
type Planner interface {
	// Name says in a few words who plans.
	Name() string
	// Next returns the calls to make now. An error ends the run.
	Next(ctx context.Context, turn Turn) (Step, error)
}

// A Turn is what a planner knows.
type Turn struct {
	Goal  string
	Tools []*middleware.Tool
	Last  []Outcome // how the calls of the step before came out, in their order
}

// A Step is what a planner wants.
type Step struct {
	Say   string    // for the person who watches; may be empty
	Calls []Request // to be made as if one after the other, in one turn
	Done  bool      // nothing is left to do; Calls is empty
}

// A Request is a call that a planner wants made.
type Request struct {
	ID        string // as the model has it; empty for none
	Tool      string // as the server names it, as "server/tool", or as a model is given it
	Arguments json.RawMessage
	Why       string // for the person who is asked; may be empty
}

// An Outcome is how a call came out. Exactly one of Result and Err is not nil.
type Outcome struct {
	Request Request // with the arguments as they were sent, which a person may have edited
	State   State
	Result  *mcp.CallToolResult
	Err     error
	Told    string // what is read of it; "" means the text of Result or Err
}

// A State says how a call ended.
type State string

// The states of an [Outcome].
const (
	Done    State = "done"
	Failed  State = "failed"  // the tool says that it could not
	Denied  State = "denied"  // a person, or the rule that stands for one, said no
	Unknown State = "unknown" // it may have happened
	Limited State = "limited" // the rate limit turned it away, or the end of a loop
	Errored State = "error"   // it could not be made
)

// Text returns what a model or a person reads of the outcome.
func (o Outcome) Text() string {
	switch {
	case o.Told != "":
		return o.Told
	case o.Err != nil:
		return o.Err.Error()
	}
	return output.Text(o.Result)
}

// Decode reads the structured answer of a call that is done.
func Decode[T any](o Outcome) (T, bool) {
	var v T
	if o.State != Done || o.Result == nil {
		return v, false
	}
	raw, err := json.Marshal(o.Result.StructuredContent)
	if err != nil || json.Unmarshal(raw, &v) != nil {
		return v, false
	}
	return v, true
}

// request makes a request with arguments that a program wrote.
func request(tool string, arguments map[string]any) Request {
	raw, err := json.Marshal(arguments)
	if err != nil {
		panic("plan: arguments that are no JSON: " + err.Error())
	}
	return Request{Tool: tool, Arguments: raw}
}
