package hitl

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A PendingError ends the first leg of a call about which a person is asked through
// whoever made it. A [Confirmer] that cannot wait returns one with what is to be
// asked and with a state of its own. The edge of the host's server makes an
// input_required result of it, and the same call comes again with the answers: the
// Confirmer gets them, and its state, as Request.Input, under the same Request.ID.
//
// Until then the question is open in the store, and holds one of the places of
// Options.MaxPending, for Options.Timeout. Its first answer is its only one.
type PendingError struct {
	fault.Final

	Tool     *middleware.Tool // set by the middleware
	Requests mcp.InputRequestMap
	// State comes back with the answers. Whoever made the call can read it and alter
	// it, so that it must be such as nobody else can make.
	State string
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("hitl: %s waits for a person's answer; call it again with the input that is asked for", e.Tool)
}

// ForModel says that there is nothing to do for a model.
func (e *PendingError) ForModel() string {
	return e.Tool.ModelName() + " was not called yet: it waits for the user's agreement. Do not call it again; tell the user."
}

// InputRequired returns what is asked, and what comes back with the answers.
func (e *PendingError) InputRequired() (requests mcp.InputRequestMap, state string) {
	return e.Requests, e.State
}

// stateMark tells a state that comes back to us from one that a server's tool sent.
const stateMark = "fairlead.hitl."

// answered takes apart the state of a call that answers a question of ours: the
// question's ID, which anybody may have made up, and what the confirmer gets.
func answered(in *middleware.Input) (id string, input *middleware.Input, ok bool) {
	if in == nil {
		return "", nil, false
	}
	rest, ok := strings.CutPrefix(in.State, stateMark)
	if !ok {
		return "", nil, false
	}
	id, state, _ := strings.Cut(rest, ".")
	return id, &middleware.Input{Responses: in.Responses, State: state}, true
}
