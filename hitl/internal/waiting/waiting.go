// Package waiting bounds how many calls wait for a person.
package waiting

import (
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

// A Queue bounds how many calls wait, in all and of each scope. Calls whose confirmer has
// not returned count, and so do those that wait for the answer to another call.
type Queue struct {
	most, mostOfScope int

	mu     sync.Mutex
	all    int
	scopes map[string]int
	parked map[string]*Parked // by the question's ID
}

// NewQueue returns an empty queue.
func NewQueue(most, mostOfScope int) *Queue {
	return &Queue{most: most, mostOfScope: mostOfScope, scopes: make(map[string]int), parked: make(map[string]*Parked)}
}

// A Place is the place of one call in a queue. It is free when all that hold it have left.
type Place struct {
	queue   *Queue
	scope   string
	holders int
}

// Parked is a question that is open while nobody waits here.
type Parked struct {
	*Place

	Input *middleware.Input // that the first leg brought for the tool itself
	Until time.Time
	End   func() // records that nobody answered
}

// Enter returns a place, held once, or an error if the queue is full.
func (q *Queue) Enter(scope string) (*Place, error) {
	q.expire()
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

// Hold adds a holder.
func (p *Place) Hold() {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.holders++
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

// Park holds the place for a question until somebody answers or its time is over.
func (q *Queue) Park(id string, p *Parked) {
	p.Hold()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parked[id] = p
}

// Unpark returns a parked question, for the caller to hold, or nil if it is not parked here.
func (q *Queue) Unpark(id string) *Parked {
	q.expire()
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.parked[id]
	delete(q.parked, id)
	return p
}

// expire ends the questions that nobody has answered in time. It holds no lock while
// that is recorded.
func (q *Queue) expire() {
	now := time.Now()
	var over []*Parked
	q.mu.Lock()
	for id, p := range q.parked {
		if !now.Before(p.Until) {
			over = append(over, p)
			delete(q.parked, id)
		}
	}
	q.mu.Unlock()
	for _, p := range over {
		p.Leave()
		p.End()
	}
}
