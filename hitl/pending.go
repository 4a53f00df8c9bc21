package hitl

// A question may be asked in two legs, by a caller that asks its user (see [PendingError]): the first call ends with
// what is to be asked and a state, and the second call brings back the answers with the state. The state begins with a
// mark of ours and the question's ID, so that it is told from a state of the tool's own server.

import (
	"context"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
	"github.com/fairlead-go/fairlead/middleware"
)

// resume puts the answers of a second leg before the confirmer. The outcome counts only
// if the store has the question open, so that an answer is good once, at any replica.
func (a *asker) resume(ctx context.Context, id string, q query) (*agreed, error) {
	q.call.Input = nil
	q.deadline = time.Now().Add(a.Timeout)
	if parked, ok := a.held.Take(id); ok {
		q.place, q.call.Input, q.deadline, q.life = parked.place, parked.call.Input, parked.deadline, parked.life
		q.extra, _ = callstate.Extra(&q.call)
		q.life.asked = nil
	} else if place, err := a.people.Enter(q.call.Scope); err != nil {
		return nil, &DeniedError{Tool: q.call.Tool, Err: err}
	} else {
		q.place, q.life = place, a.begins(ctx, id, &q)
		q.life.Question = lifecycle.Open(q.life.Asked, q.life.Once)
	}
	defer q.place.Leave()
	returned, err := a.does(ctx, q, lifecycle.Caller, lifecycle.Return, lifecycle.Reply{})
	if err = reads(q, returned, err, nil); err != nil {
		return nil, err
	}
	return a.question(ctx, q)
}

// stateMark marks our states, apart from those of a server's tool.
const stateMark = "fairlead.hitl."

// answered takes apart the state of a call that answers a question of ours: the
// question's ID, which anybody may have made up, and what the confirmer gets.
func answered(in *middleware.Input) (id string, input *middleware.Input, ok bool) {
	if in == nil || !strings.HasPrefix(in.State, stateMark) {
		return "", nil, false
	}
	id, state, _ := strings.Cut(in.State[len(stateMark):], ".")
	return id, &middleware.Input{Responses: in.Responses, State: state}, true
}
