package waiting

// Three sides may end a question: the answer comes, its time or its caller's time is over, or its call ends first and
// leaves it open. They may do so at once, and a confirmer may ignore its context. So the confirmer has a goroutine of
// its own (Ask), whose answer goes one of three ways: to the call that waits (Await), to Left if the question was
// parked and no call has taken it up, or to Late if the outcome has been recorded without it. An answer that arrives
// together with the deadline is too late, whichever of the two is seen first.

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

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
