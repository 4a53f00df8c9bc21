package proxy

import (
	"context"
	"maps"
	"net/http"
	"sync"

	"github.com/fairlead-go/fairlead/hitl"
)

// A Use is how much of something is in use now, and the most that may be.
type Use struct{ Now, Limit int64 }

// Stats are what a proxy holds at one moment, over all users. Sessions, Requests and Bodies are zero unless clients are
// served over HTTP.
type Stats struct {
	Sessions  Use
	Requests  Use   // under way
	Bodies    Use   // bytes of the bodies of the requests under way
	Results   Use   // bytes of what servers have sent and clients do not have yet
	Delayed   int64 // messages of servers that are not read, since there is no room for their bytes
	Questions Use   // calls that wait for a person
	// Lost is how many records the sink of the audit did not accept, or not in time.
	Lost int64
	// TurnedAway is how many requests over HTTP were answered with a status of 400 or more, by the status.
	TurnedAway map[int]int64
}

// Stats returns what the proxy holds now.
func (p *Proxy) Stats() Stats {
	limit := p.plan().questions
	s := Stats{Questions: Use{p.asked.Load(), int64(limit)}, TurnedAway: p.turned.all()}
	s.Results, s.Delayed = p.room.use()
	if p.trail != nil {
		s.Lost = p.trail.Lost()
	}
	f := p.front.Load()
	if f == nil {
		return s
	}
	f.mu.Lock()
	s.Sessions = Use{int64(len(f.sessions)), int64(f.bounds.Sessions)}
	f.mu.Unlock()
	s.Requests, s.Bodies = f.requests.use(), f.bodies.use()
	return s
}

func (q *quota) use() Use {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Use{int64(q.all), int64(q.most)}
}

// counted counts the questions of a confirmer that wait.
func (p *Proxy) counted(c hitl.Confirmer) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		p.asked.Add(1)
		defer p.asked.Add(-1)
		return c.Confirm(ctx, r)
	})
}

// A turnedAway counts responses by their status. It is safe for concurrent use.
type turnedAway struct {
	mu sync.Mutex
	of map[int]int64
}

func (t *turnedAway) all() map[int]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.of)
}

func (t *turnedAway) add(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = make(map[int]int64)
	}
	t.of[status]++
}

// A statusWriter counts the status of a response if it is 400 or more.
type statusWriter struct {
	http.ResponseWriter

	to *turnedAway
}

func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.to.add(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
