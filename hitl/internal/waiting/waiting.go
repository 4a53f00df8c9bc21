// Package waiting bounds how many calls wait for a person.
package waiting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Queue bounds how many calls wait, in all and of each scope. Calls whose confirmer has
// not returned count, and so do those that wait for the answer to another call.
type Queue struct {
	most, mostOfScope int

	mu     sync.Mutex
	all    int
	scopes map[string]int
}

// NewQueue returns an empty queue.
func NewQueue(most, mostOfScope int) *Queue {
	return &Queue{most: most, mostOfScope: mostOfScope, scopes: make(map[string]int)}
}

// A Place is the place of one call in a queue. It is free when all that hold it have left.
type Place struct {
	queue   *Queue
	scope   string
	holders int
}

// Enter returns a place, held once, or an error if the queue is full.
func (q *Queue) Enter(scope string) (*Place, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.all >= q.most:
		return nil, fmt.Errorf("too many pending approvals: %d questions are open", q.all)
	case q.scopes[scope] >= q.mostOfScope:
		return nil, fmt.Errorf("too many pending approvals: %d questions of this scope are open", q.scopes[scope])
	}
	q.all++
	q.scopes[scope]++
	return &Place{q, scope, 1}, nil
}

// Hold adds a holder. It is false for a place that is free.
func (p *Place) Hold() bool {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	if p.holders == 0 {
		return false
	}
	p.holders++
	return true
}

// Leave removes a holder.
func (p *Place) Leave() {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.holders--; p.holders > 0 {
		return
	}
	q.all--
	if q.scopes[p.scope]--; q.scopes[p.scope] == 0 {
		delete(q.scopes, p.scope)
	}
}

// Asked is a question that was put to a person, on a goroutine of its own. It may outlive its call.
type Asked[A any] struct {
	Cancel  context.CancelFunc // ends the question
	Settled func()             // is called when the outcome is recorded
	Park    func()             // is called when no call waits

	ctx      context.Context
	deadline time.Time
	silent   error
	answers  chan A
}

// A Question is what [Ask] puts to a person.
type Question[A any] struct {
	Deadline time.Time
	Silent   error // at the deadline
	Outlives bool  // its call may end first
	Put      func(ctx context.Context) A
	Lost     A                                        // if Put ends its goroutine
	Panicked func(ctx context.Context, v any) A       // if it panics
	Left     func(ctx context.Context, answer A) bool // gets an answer that comes while no call waits, and reports whether that was its end
	Late     func(ctx context.Context, answer A)      // gets an answer that comes when the outcome is recorded
	Done     func()                                   // runs when Put has returned
}

// Ask puts a question. Put may ignore its context.
func Ask[A any](ctx context.Context, q Question[A]) *Asked[A] {
	if q.Outlives {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithDeadlineCause(ctx, q.Deadline, q.Silent)
	over, parked := make(chan struct{}), make(chan struct{})
	a := &Asked[A]{
		Cancel: cancel, Settled: sync.OnceFunc(func() { close(over) }), Park: sync.OnceFunc(func() { close(parked) }),
		ctx: ctx, deadline: q.Deadline, silent: q.Silent, answers: make(chan A),
	}
	go func() {
		got := q.Lost
		defer func() {
			if v := recover(); v != nil {
				got = q.Panicked(ctx, v)
			}
			q.Done()
			select {
			case a.answers <- got:
				return
			case <-over:
			case <-parked:
				if q.Left(ctx, got) {
					return
				}
			}
			select {
			case a.answers <- got:
			case <-over:
				q.Late(ctx, got)
			}
		}()
		got = q.Put(ctx)
	}()
	return a
}

// ErrImpatient ends the wait for a question that stays open.
var ErrImpatient = errors.New("waiting: the call waits no longer")

// Await returns the answer to a question, which counts only if it is there before the question ends. Otherwise
// it returns why there is none, and whether one came too late. A patience of 0 is as long as the question.
func (a *Asked[A]) Await(ctx context.Context, patience time.Duration) (got A, late bool, err error) {
	stop := context.AfterFunc(ctx, a.Cancel)
	defer stop()
	var impatient <-chan time.Time
	if patience > 0 {
		impatient = time.After(patience)
	}
	select {
	case got = <-a.answers:
		// Both at once: too late is too late, be it the question's end or the caller's.
		if isLate(a.ctx) || isLate(ctx) { //nolint:contextcheck // the question's own
			return got, true, a.ended()
		}
		return got, false, nil
	case <-a.ctx.Done():
		return got, false, context.Cause(a.ctx) //nolint:contextcheck // the question's own
	case <-impatient:
		if stop() {
			return got, false, ErrImpatient
		}
		return got, false, context.Cause(ctx)
	}
}

// isLate reports whether the context's time is over. Its own timer may not have run yet.
func isLate(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// ended returns why a question whose deadline, or whose caller's, has passed is over.
func (a *Asked[A]) ended() error {
	switch {
	case a.ctx.Err() != nil:
		return context.Cause(a.ctx)
	case !time.Now().Before(a.deadline):
		return a.silent
	}
	return &middleware.NotSentError{Err: context.DeadlineExceeded} // the caller's time, not the question's
}

// Every calls report at each interval until stop is called or ctx is done.
func Every(ctx context.Context, interval time.Duration, report func(ctx context.Context)) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	go func() {
		for tick := time.Tick(interval); ctx.Err() == nil; {
			select {
			case <-tick:
				report(ctx)
			case <-ctx.Done():
			}
		}
	}()
	return stop
}

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
	<-g.over                    // also for who has gone: the question keeps its place until the dialog has ended
	return g.answers[id], g.err // by id: the zero value is a denial
}

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

// Held are questions that are open while no call waits for them, by a key. The zero value is ready.
type Held[Q any] struct {
	mu sync.Mutex
	by map[any]*held[Q]
}

type held[Q any] struct {
	question Q
	timer    *time.Timer
}

// Hold keeps a question until somebody takes it. It calls end if nobody has by then.
func (h *Held[Q]) Hold(key any, question Q, until time.Time, end func()) {
	one := &held[Q]{question: question}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = make(map[any]*held[Q])
	}
	h.by[key] = one
	one.timer = time.AfterFunc(time.Until(until), func() {
		h.mu.Lock()
		if h.by[key] == one {
			delete(h.by, key)
		}
		h.mu.Unlock()
		end()
	})
}

// Peek returns the question that is kept under a key.
func (h *Held[Q]) Peek(key any) (question Q, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.by[key]; one != nil {
		return one.question, true
	}
	return question, false
}

// Take returns the question that is kept under a key, once.
func (h *Held[Q]) Take(key any) (question Q, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.by[key]
	if one == nil {
		return question, false
	}
	delete(h.by, key)
	return one.question, one.timer.Stop()
}

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
