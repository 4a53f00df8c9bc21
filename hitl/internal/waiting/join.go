package waiting

import (
	"context"
	"sync"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// Joins bring identical calls together, so that one question stands for them. The zero value is ready.
type Joins struct{ open sync.Map } // Key → *Joined

// A Key is that of identical calls.
type Key struct {
	what  callstate.Binding // what an approval covers
	class string            // as it would be shown
}

// KeyOf returns the key of calls like this one.
func KeyOf(ctx context.Context, call *middleware.Call) Key {
	return Key{callstate.BindCall(ctx, call), call.Tool.Safety().String()}
}

// Joined is one question that several calls wait for.
type Joined struct {
	Over chan struct{} // closed when it is answered
	No   error         // what all of them get, set before; nil if the answer was for one call

	key Key
}

// Join returns the question about this call, and whether the caller has to put it.
func (j *Joins) Join(ctx context.Context, call *middleware.Call) (question *Joined, mine bool) {
	asked := &Joined{key: KeyOf(ctx, call), Over: make(chan struct{})}
	found, open := j.open.LoadOrStore(asked.key, asked)
	return found.(*Joined), !open // the map holds nothing else
}

// End lets the calls that wait go on.
func (j *Joins) End(question *Joined) {
	j.open.Delete(question.key)
	close(question.Over)
}
