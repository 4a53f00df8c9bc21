package hitl

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/turn"
)

// A GroupConfirmer is a [Confirmer] that can put several questions in one dialog.
// Where it is given to [New], the calls of one batch (package batch) that need a yes
// are put to it together; one alone still goes to Confirm.
//
// ConfirmGroup returns what the person said of each request, by its ID. What is not
// there is a no, an ID that was not asked about has no effect, and an error is a no
// to all. Each decision is good for its own request and nothing else, in any order.
// The context ends when nobody waits for any of the answers; each request has its own
// Deadline, after which an answer to it has no effect.
type GroupConfirmer interface {
	Confirmer
	ConfirmGroup(ctx context.Context, requests []Request) (map[string]Decision, error)
}

// gatherFor is how long a question waits for the others of its batch that have not
// come so far. Those that come later are put in another dialog.
const gatherFor = time.Second

// groups brings the questions of each turn together.
type groups struct {
	mu   sync.Mutex
	open map[*turn.Turn]*group
}

// A group is the questions of one dialog.
type group struct {
	of       *groups
	turn     *turn.Turn
	requests []Request // of those who still wait, while it is open
	present  int
	alone    context.CancelFunc // nobody waits any more; nil while it is open
	over     chan struct{}

	// Set before over is closed.
	decisions map[string]Decision
	err       error
}

// ask puts a question, together with the others of its turn where the confirmer can.
func (a *asker) ask(ctx context.Context, request Request) (Decision, error) {
	ticket := turn.Of(ctx)
	together, ok := a.confirmer.(GroupConfirmer)
	if ticket == nil || !ok || request.Input != nil {
		ticket.Asking()
		return a.confirmer.Confirm(ctx, request)
	}
	g := a.groups.join(ticket.Turn(), request)
	ticket.Asking()
	stop := context.AfterFunc(ctx, func() { g.leave(request.ID) })
	defer stop()
	late := time.NewTimer(gatherFor)
	defer late.Stop()
	select {
	case <-ticket.Turn().Settled():
	case <-late.C:
	case <-ctx.Done():
		return Decision{}, context.Cause(ctx)
	}
	if shared, leads := g.lead(ctx); leads {
		if len(g.requests) == 1 && g.requests[0].ID == request.ID {
			g.alone()
			close(g.over)
			return a.confirmer.Confirm(ctx, request)
		}
		g.put(shared, together)
	}
	<-g.over                              // also for who has gone: the question keeps its place until the dialog has ended
	return g.decisions[request.ID], g.err // by id: the zero value is a no
}

// join adds a question to the open group of its turn.
func (s *groups) join(t *turn.Turn, request Request) *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.open[t]
	if g == nil {
		g = &group{of: s, turn: t, over: make(chan struct{})}
		s.open[t] = g
	}
	g.requests = append(g.requests, request)
	g.present++
	return g
}

// lead closes the group, for the first of those who wait. The context is that of the
// dialog, which outlives the one who leads it.
func (g *group) lead(ctx context.Context) (shared context.Context, leads bool) {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.alone != nil {
		return nil, false
	}
	g.close()
	shared, g.alone = context.WithCancel(context.WithoutCancel(ctx))
	if g.present == 0 { // all have gone, just now
		g.alone()
		g.err = context.Cause(ctx)
		close(g.over)
		return nil, false
	}
	return shared, true
}

// close keeps the questions that come later out. The caller holds the lock.
func (g *group) close() {
	if g.of.open[g.turn] == g {
		delete(g.of.open, g.turn)
	}
}

// leave says that nobody waits for an answer to this question any more.
func (g *group) leave(id string) {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	g.present--
	switch {
	case g.alone == nil:
		g.requests = slices.DeleteFunc(g.requests, func(r Request) bool { return r.ID == id })
		if g.present == 0 { // and so nobody will lead
			g.close()
		}
	case g.present == 0:
		g.alone()
	}
}

// put puts the dialog. Whatever becomes of the confirmer, those who wait go on.
func (g *group) put(ctx context.Context, c GroupConfirmer) {
	defer g.alone()
	defer close(g.over)
	g.err = errors.New("the confirmer ended its goroutine")
	decisions, err := c.ConfirmGroup(ctx, g.requests)
	g.decisions, g.err = maps.Clone(decisions), err
}
