package waiting

// The calls of one turn are made side by side, and each that needs an approval comes here by itself. The first one
// leads a group: it waits until every call of the turn has come or does not need to ask (Turn.Settled), a second at
// most, and puts all questions in one dialog. A call that is given up leaves its group; when none is left, the dialog
// is cancelled.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/turn"
)

// gatherFor is how long a question waits for the others of its batch that have not
// come so far. Those that come later are put in another dialog.
const gatherFor = time.Second

// Groups bring the questions of each turn together in one dialog. The zero value is ready.
type Groups[Q, A any] struct {
	mu   sync.Mutex
	open map[*turn.Turn]*group[Q, A]
}

// A group is the questions of one dialog. The first of them leads it: its goroutine puts
// the dialog, even if its own call no longer waits.
type group[Q, A any] struct {
	ctx       context.Context // of the dialog; done when no call waits any more
	cancel    context.CancelFunc
	ids       []string // of the questions that still wait, while the group is open
	questions []Q
	present   int
	over      chan struct{}

	// Set before over is closed.
	answers map[string]A
	err     error
}

// Ask puts a question by put, together with the others of the ticket's turn. put returns
// the answers by their ids.
func (s *Groups[Q, A]) Ask(ctx context.Context, ticket *turn.Ticket, id string, q Q, put func(context.Context, []Q) (map[string]A, error)) (A, error) {
	t := ticket.Turn()
	g, leads := s.join(ctx, t, id, q)
	ticket.Asking()
	stop := context.AfterFunc(ctx, func() { s.leave(t, g, id) })
	defer stop()
	if leads {
		s.lead(t, g, put)
	}
	<-g.over                    // even if the caller has left: its question occupies the queue until the dialog has ended
	return g.answers[id], g.err // by id: the zero value is a denial
}

// join adds a question to the open group of the turn, and makes one if there is none, for the caller to lead.
func (s *Groups[Q, A]) join(ctx context.Context, t *turn.Turn, id string, q Q) (g *group[Q, A], leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*turn.Turn]*group[Q, A])
	}
	if g = s.open[t]; g == nil {
		g, leads = &group[Q, A]{over: make(chan struct{})}, true
		g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // leave calls it
		s.open[t] = g
	}
	g.ids, g.questions = append(g.ids, id), append(g.questions, q)
	g.present++
	return g, leads
}

// leave removes a question to which nobody waits for an answer any more.
func (s *Groups[Q, A]) leave(t *turn.Turn, g *group[Q, A], id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[t] == g {
		i := slices.Index(g.ids, id)
		g.ids, g.questions = slices.Delete(g.ids, i, i+1), slices.Delete(g.questions, i, i+1)
		if len(g.ids) == 0 {
			delete(s.open, t)
		}
	}
	if g.present--; g.present == 0 {
		g.cancel()
	}
}

// lead waits for the other questions of the turn and puts the dialog. However it ends,
// put, the calls that wait go on.
func (s *Groups[Q, A]) lead(t *turn.Turn, g *group[Q, A], put func(context.Context, []Q) (map[string]A, error)) {
	defer g.cancel()
	defer close(g.over)
	late := time.NewTimer(gatherFor)
	defer late.Stop()
	select {
	case <-t.Settled():
	case <-late.C:
	case <-g.ctx.Done():
	}
	s.mu.Lock()
	if s.open[t] == g { // questions that come later are put in another dialog
		delete(s.open, t)
	}
	s.mu.Unlock()
	if g.err = context.Cause(g.ctx); g.err != nil {
		return
	}
	g.err = errors.New("the confirmer ended its goroutine")
	answers, err := put(g.ctx, g.questions)
	g.answers, g.err = maps.Clone(answers), err
}
