package hitl

import (
	"fmt"
	"sync"

	"github.com/fairlead-go/fairlead/internal/grant"
	"github.com/fairlead-go/fairlead/middleware"
)

// A queue bounds how many calls wait for an answer, those included whose confirmer
// has not returned.
type queue struct {
	most, mostOfScope int

	mu     sync.Mutex
	all    int
	scopes map[string]int
}

// A place is one call's in the queue. The zero value is none.
type place struct {
	queue *queue
	scope string
}

func (q *queue) enter(scope string) (*place, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.all >= q.most:
		return nil, fmt.Errorf("%d questions already wait for an answer: too many pending approvals", q.all)
	case q.scopes[scope] >= q.mostOfScope:
		return nil, fmt.Errorf("%d questions of this scope already wait for an answer: too many pending approvals", q.scopes[scope])
	}
	q.all++
	q.scopes[scope]++
	return &place{q, scope}, nil
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
	q.all--
	if q.scopes[p.scope]--; q.scopes[p.scope] == 0 {
		delete(q.scopes, p.scope)
	}
}

// joins brings identical calls together, so that one question stands for them.
type joins struct {
	mu   sync.Mutex
	open map[joinKey]*joined
}

type joinKey struct {
	what  grant.Binding // scope, tool, definition and exact arguments
	class string        // as it would be shown
}

// joined is one question that several calls wait for.
type joined struct {
	key  joinKey
	over chan struct{}
	no   *DeniedError // what all of them get; nil where the answer was for one call
}

// join returns the question about this call, and whether the caller has to put it.
func (j *joins) join(call *middleware.Call) (*joined, bool) {
	key := joinKey{grant.Bind(call), call.Tool.Safety().String()}
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
