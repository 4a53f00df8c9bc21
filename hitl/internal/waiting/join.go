package waiting

import (
	"context"
	"sync"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// Joins bring identical calls together, so that one question stands for them. The zero
// value is ready.
type Joins struct {
	mu   sync.Mutex
	open map[joinKey]*Joined
}

type joinKey struct {
	what  callstate.Binding // what an approval covers
	class string            // as it would be shown
}

// Joined is one question that several calls wait for.
type Joined struct {
	Over chan struct{} // closed when it is answered
	No   error         // what all of them get, set before; nil if the answer was for one call

	key joinKey
}

// Join returns the question about this call, and whether the caller has to put it.
func (j *Joins) Join(ctx context.Context, call *middleware.Call) (question *Joined, mine bool) {
	key := joinKey{callstate.BindCall(ctx, call), call.Tool.Safety().String()}
	j.mu.Lock()
	defer j.mu.Unlock()
	if question = j.open[key]; question != nil {
		return question, false
	}
	if j.open == nil {
		j.open = make(map[joinKey]*Joined)
	}
	question = &Joined{key: key, Over: make(chan struct{})}
	j.open[key] = question
	return question, true
}

// End lets the calls that wait go on.
func (j *Joins) End(question *Joined) {
	j.mu.Lock()
	delete(j.open, question.key)
	j.mu.Unlock()
	close(question.Over)
}
