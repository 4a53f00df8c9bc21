package hitl

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// A queue bounds how many calls wait for an answer, those included whose confirmer
// has not returned, and those whose answer comes with another call.
type queue struct {
	most, mostOfScope int

	mu     sync.Mutex
	all    int
	scopes map[string]int
	parked map[string]parked // by the question's ID
}

// parked is a question that is open while nobody waits here.
type parked struct {
	scope string
	input *middleware.Input // that the first leg brought for the tool itself
	until time.Time
	end   func() // writes down that nobody answered
}

// A place is one call's in the queue. The zero value is none.
type place struct {
	queue *queue
	scope string
}

func (q *queue) enter(scope string) (*place, error) {
	q.expire()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.enterLocked(scope); err != nil {
		return nil, err
	}
	return &place{q, scope}, nil
}

func (q *queue) enterLocked(scope string) error {
	switch {
	case q.all >= q.most:
		return fmt.Errorf("%d questions already wait for an answer: too many pending approvals", q.all)
	case q.scopes[scope] >= q.mostOfScope:
		return fmt.Errorf("%d questions of this scope already wait for an answer: too many pending approvals", q.scopes[scope])
	}
	q.all++
	q.scopes[scope]++
	return nil
}

// park keeps a place for a question until somebody answers or its time is over.
func (q *queue) park(id string, p parked) error {
	q.expire()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.enterLocked(p.scope); err != nil {
		return err
	}
	q.parked[id] = p
	return nil
}

// unpark returns the place of a question that somebody answers, and what its first
// leg brought. It is false for one that is not parked here.
func (q *queue) unpark(id string) (*place, *middleware.Input, bool) {
	q.expire()
	q.mu.Lock()
	defer q.mu.Unlock()
	p, ok := q.parked[id]
	if !ok {
		return nil, nil, false
	}
	delete(q.parked, id)
	return &place{q, p.scope}, p.input, true
}

// expire ends the questions that nobody has answered in time. No lock is held while
// that is written down.
func (q *queue) expire() {
	now := time.Now()
	var over []parked
	q.mu.Lock()
	for id, p := range q.parked {
		if !now.Before(p.until) {
			over = append(over, p)
			delete(q.parked, id)
			q.leaveLocked(p.scope)
		}
	}
	q.mu.Unlock()
	for _, p := range over {
		p.end()
	}
}

// take moves the place to somebody else.
func (p *place) take() place {
	taken := *p
	*p = place{}
	return taken
}

func (p *place) leave() {
	q := p.queue
	if q == nil {
		return
	}
	p.queue = nil
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leaveLocked(p.scope)
}

func (q *queue) leaveLocked(scope string) {
	q.all--
	if q.scopes[scope]--; q.scopes[scope] == 0 {
		delete(q.scopes, scope)
	}
}

// joins brings identical calls together, so that one question stands for them.
type joins struct {
	mu   sync.Mutex
	open map[joinKey]*joined
}

type joinKey struct {
	what  callstate.Binding // scope, tool, definition and exact arguments
	class string            // as it would be shown
}

// joined is one question that several calls wait for.
type joined struct {
	key  joinKey
	over chan struct{}
	no   *DeniedError // what all of them get; nil where the answer was for one call
}

// join returns the question about this call, and whether the caller has to put it.
func (j *joins) join(ctx context.Context, call *middleware.Call) (*joined, bool) {
	key := joinKey{callstate.Bind(callstate.Of(ctx), call), call.Tool.Safety().String()}
	j.mu.Lock()
	defer j.mu.Unlock()
	if question, ok := j.open[key]; ok {
		return question, false
	}
	question := &joined{key: key, over: make(chan struct{})}
	j.open[key] = question
	return question, true
}

// end lets those who wait go on. No is set before.
func (j *joins) end(question *joined) {
	j.mu.Lock()
	delete(j.open, question.key)
	j.mu.Unlock()
	close(question.over)
}
