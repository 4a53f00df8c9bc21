// Package waiting has what calls that wait for a person share: a queue that bounds how many there are ([Queue]), a
// question that may outlive its call ([Asked]), questions that no call waits for ([Held]), identical calls that share a
// question ([Joins]), and the questions of one turn in one dialog ([Groups]). It knows nothing of what is asked.
package waiting

import (
	"fmt"
	"sync"

	"github.com/fairlead-go/fairlead/internal/fault"
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
		return nil, full(fmt.Errorf("too many pending approvals: %d questions are open", q.all), "too many calls")
	case q.scopes[scope] >= q.mostOfScope:
		return nil, full(fmt.Errorf("too many pending approvals: %d questions of this scope are open", q.scopes[scope]), "too many of your calls")
	}
	q.all++
	q.scopes[scope]++
	return &Place{q, scope, 1}, nil
}

// full returns the error of a call that is not asked about, since so many wait.
func full(err error, many string) error {
	return fault.Told(err, false, many+" wait for an answer already, and nobody was asked about this one. "+
		"Tell the user, and call it again when some of them are answered")
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
