package budget

import (
	"context"
	"hash/maphash"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// maxSessions is how many sessions are kept. While none of them is over, all further
// ones share one, so that no session's budget is forgotten for want of room.
const maxSessions = 10_000

// A Ledger holds what sessions have spent. It is safe for concurrent use. The zero value
// is not ready; use NewLedger.
type Ledger struct {
	born time.Time
	seed maphash.Seed
	most int // sessions

	mu       sync.RWMutex // guards what follows; taken before a session's
	sessions map[string]*session
	crowd    *session      // of those for which there is no room, nil if there is none
	next     time.Duration // when to look again for sessions that are over
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return newLedger(maxSessions) }

func newLedger(sessions int) *Ledger {
	return &Ledger{born: time.Now(), seed: maphash.MakeSeed(), most: sessions, sessions: make(map[string]*session)}
}

// now is how long the ledger has been there, which the monotonic clock knows alone:
// it takes one reading, where time.Now takes two.
func (l *Ledger) now() time.Duration { return time.Since(l.born) }

// Spent is what was spent, calls under way included.
type Spent struct {
	Calls int
	Cost  float64
	Time  time.Duration // of calls that have come back
}

// Spent returns what the session of a scope has spent.
func (l *Ledger) Spent(scope string) Spent {
	s := l.find(scope)
	if s == nil {
		return Spent{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Forget lets the session of a scope begin anew, as when its user agrees to more.
func (l *Ledger) Forget(scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, scope)
}

// A session is what one scope has spent since it last began.
type session struct {
	idle time.Duration

	mu      sync.Mutex // guards what follows
	all     Spent
	classes [annotation.Safe + 1]Spent
	calls   history
	flying  int           // calls in flight
	last    time.Duration // when one began or came back, by the ledger's clock

	_ [40]byte // up to 256, so that two cores never write to two sessions in one cache line
}

func (s *session) over(now time.Duration) bool {
	return s.flying == 0 && now-s.last >= s.idle
}

// ended is over for a session that is not locked.
func (s *session) ended(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over(now)
}

func (l *Ledger) find(scope string) *session {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sessions[scope]
}

// enter returns the session of a scope, locked.
func (l *Ledger) enter(scope string, now, idle time.Duration) *session {
	if s := l.find(scope); s != nil {
		s.mu.Lock()
		if !s.over(now) {
			return s
		}
		s.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session(scope, now, idle)
	s.mu.Lock()
	return s
}

// session returns that of a scope. The caller holds the mutex.
func (l *Ledger) session(scope string, now, idle time.Duration) *session {
	s, known := l.sessions[scope]
	if known && !s.ended(now) {
		return s
	}
	if l.crowd != nil && l.crowd.ended(now) {
		l.crowd = nil
	}
	if !known && !l.room(now) {
		if l.crowd == nil {
			l.crowd = &session{last: now, idle: idle}
		}
		return l.crowd
	}
	s = &session{last: now, idle: idle}
	if c := l.crowd; c != nil { // perhaps it has spent something there
		c.mu.Lock()
		s.all, s.classes = c.all, c.classes
		c.mu.Unlock()
	}
	l.sessions[scope] = s
	return s
}

// room reports whether there is room for one more session, and drops those that are
// over if there is none.
func (l *Ledger) room(now time.Duration) bool {
	if len(l.sessions) >= l.most && now >= l.next {
		l.next = now + time.Second
		maps.DeleteFunc(l.sessions, func(_ string, s *session) bool { return s.ended(now) })
	}
	return len(l.sessions) < l.most
}

// A taking is what one call has reserved.
type taking struct {
	session *session
	class   annotation.Safety
	cost    float64
	place   int // in the session's history
}

// An ending is how it came back.
type ending struct {
	at, took time.Duration
	answer   uint64
	returned bool // it was not carried out
}

// take reserves what the call costs, or says why it is stopped.
func (b *budget) take(ctx context.Context, now time.Duration, call *middleware.Call) (taking, *StoppedError) {
	this := entry{tool: call.Tool, written: maphash.Bytes(b.ledger.seed, call.Arguments), at: now}
	class := min(call.Tool.Safety(), annotation.Safe)
	cost := costOf(call.Tool)
	s := b.ledger.enter(call.Scope, now, b.idle)
	defer s.mu.Unlock()
	anew := max(s.last+s.idle-now, time.Millisecond)
	stopped := b.session.stops(&s.all, cost, anew)
	if stopped == nil {
		if stopped = b.classes[class].stops(&s.classes[class], cost, anew); stopped != nil {
			stopped.Class = class.String()
		}
	}
	if stopped == nil {
		this.call = s.calls.identity(ctx, b.ledger.seed, this, call)
		stopped = s.calls.loop(b.rounds, this.call, now)
	}
	if stopped != nil {
		stopped.Tool = call.Tool
		return taking{}, stopped
	}
	s.flying++
	s.last = now
	s.all.add(1, cost, 0)
	s.classes[class].add(1, cost, 0)
	return taking{session: s, class: class, cost: cost, place: s.calls.begin(b.rounds, this)}, nil
}

// settle takes what the call really cost.
func (b *budget) settle(t taking, e ending) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying--
	s.last = max(s.last, e.at)
	s.calls.end(t.place, e.answer)
	calls, cost := 0, 0.0
	if e.returned {
		calls, cost = -1, -t.cost
	}
	if t.cost >= maxExact { // what was spent beside it is lost in the sum
		cost = 0
	}
	s.all.add(calls, cost, e.took)
	s.classes[t.class].add(calls, cost, e.took)
}

// maxExact is where float64 begins to leave whole numbers out.
const maxExact = 1 << 53

func (s *Spent) add(calls int, cost float64, took time.Duration) {
	s.Calls += calls
	s.Time += took
	if cost != 0 { // few tools cost anything
		s.Cost = max(0, s.Cost+cost)
	}
}

// stops says which limit another call would break, and that the budget begins anew after
// that time.
func (l *Limit) stops(spent *Spent, cost float64, anew time.Duration) *StoppedError {
	switch {
	case l.Calls > 0 && spent.Calls >= l.Calls:
		return &StoppedError{Reason: Calls, Spent: *spent, Limit: *l, After: anew}
	case l.Cost > 0 && cost > l.Cost:
		return &StoppedError{Reason: Cost, Spent: *spent, Limit: *l}
	case l.Cost > 0 && spent.Cost+cost > l.Cost:
		return &StoppedError{Reason: Cost, Spent: *spent, Limit: *l, After: anew}
	case l.Time > 0 && spent.Time >= l.Time:
		return &StoppedError{Reason: Time, Spent: *spent, Limit: *l, After: anew}
	}
	return nil
}

// costOf is what a call of the tool costs; one whose hint is no number costs more
// than there is.
func costOf(tool *middleware.Tool) float64 {
	if tool == nil || tool.Annotations.CostHint == nil {
		return 0
	}
	if c := *tool.Annotations.CostHint; c >= 0 {
		return c
	}
	return math.Inf(1)
}
