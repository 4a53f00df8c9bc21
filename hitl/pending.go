package hitl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
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

// NotSent reports that the call did not leave.
func (e *PendingError) NotSent() bool { return true }

// Permanent reports that the call without the answers would only ask again.
func (e *PendingError) Permanent() bool { return true }

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

// resume puts the answers of a second leg before the confirmer. What comes of it
// counts only if the store has the question open, so that an answer is good once,
// whichever process it comes to.
func (a *asker) resume(ctx context.Context, q query) (*agreed, error) {
	q.began, q.deadline = time.Now(), time.Now().Add(a.Timeout)
	place, input, ok := a.people.unpark(q.id)
	if !ok {
		var err error
		if place, err = a.people.enter(q.call.Scope); err != nil {
			return nil, &DeniedError{Tool: q.call.Tool, Err: err}
		}
	}
	defer place.leave()
	q.call.Input = input
	yes, sterner, err := a.put(ctx, q, place)
	if sterner == nil {
		return yes, err
	}
	if place, err = a.people.enter(q.call.Scope); err != nil {
		return nil, &DeniedError{Tool: q.call.Tool, Err: err}
	}
	defer place.leave()
	return a.question(ctx, *sterner, q.drafts, true, place)
}

// park leaves a question open, with nobody waiting here.
func (a *asker) park(ctx context.Context, q query) error {
	end := func() { // as denied, which takes back no yes that came to another replica
		_ = a.advance(context.WithoutCancel(ctx), q.id, approvals.Change{To: approvals.Denied}) // the log has it
	}
	if err := a.people.park(q.id, parked{scope: q.call.Scope, input: q.call.Input, until: q.deadline, end: end}); err != nil {
		return err
	}
	a.decided(ctx, &q.call, outcome{what: "pending", took: time.Since(q.began)})
	return nil
}

func isPending(err error) bool {
	_, ok := errors.AsType[*PendingError](err)
	return ok
}
