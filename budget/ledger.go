package budget

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxSessions is how many sessions are kept. While none of them is over, all further
// ones share one, so that no session's budget is forgotten for want of room.
const maxSessions = 10_000

// A Ledger holds what sessions have spent. It is safe for concurrent use.
type Ledger struct {
	born    time.Time
	seed    maphash.Seed
	written [1024]spelling // the calls of late
	most    int            // sessions

	mu       sync.Mutex // guards what follows, and every session
	sessions *simplelru.LRU[string, *session]
	crowd    *session // of those for which there is no room, nil where there is none
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return newLedger(maxSessions) }

func newLedger(sessions int) *Ledger {
	lru, err := simplelru.NewLRU[string, *session](sessions, nil)
	if err != nil {
		panic("budget: " + err.Error())
	}
	return &Ledger{born: time.Now(), seed: maphash.MakeSeed(), most: sessions, sessions: lru}
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
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions.Peek(scope); ok {
		return s.all
	}
	return Spent{}
}

// Forget lets the session of a scope begin anew, as when its user agrees to more.
func (l *Ledger) Forget(scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions.Remove(scope)
}

// A session is what one scope has spent since it last began.
type session struct {
	all     Spent
	classes [annotation.Safe + 1]Spent
	calls   history
	flying  int           // calls under way
	last    time.Duration // when one began or came back, by the ledger's clock
	idle    time.Duration
}

func (s *session) over(now time.Duration) bool {
	return s.flying == 0 && now-s.last >= s.idle
}

// session returns that of a scope.
func (l *Ledger) session(scope string, now, idle time.Duration) *session {
	if s, ok := l.sessions.Get(scope); ok && !s.over(now) {
		return s
	}
	if l.crowd != nil && l.crowd.over(now) {
		l.crowd = nil
	}
	if !l.sessions.Contains(scope) && l.sessions.Len() >= l.most && !l.dropOne(now) {
		if l.crowd == nil {
			l.crowd = &session{last: now, idle: idle}
		}
		return l.crowd
	}
	s := &session{last: now, idle: idle}
	if l.crowd != nil { // perhaps it has spent something there
		s.all, s.classes = l.crowd.all, l.crowd.classes
	}
	l.sessions.Add(scope, s)
	return s
}

// dropOne makes room where one of the sessions that were used longest ago is over.
func (l *Ledger) dropOne(now time.Duration) bool {
	for range 4 {
		scope, s, ok := l.sessions.GetOldest()
		if ok && s.over(now) {
			return l.sessions.Remove(scope)
		}
		l.sessions.Get(scope) // another one's turn next time
	}
	return false
}

// A taking is what one call has reserved.
type taking struct {
	session *session
	class   annotation.Safety
	cost    float64
	place   int64 // in the session's history
}

// An ending is how it came back.
type ending struct {
	at, took time.Duration
	answer   uint64
	returned bool // it was not carried out
}

// take reserves what the call costs, or says why it is stopped.
func (b *budget) take(now time.Duration, call *middleware.Call) (taking, *StoppedError) {
	id := b.ledger.identity(call)
	class := min(call.Tool.Safety(), annotation.Safe)
	cost := costOf(call.Tool)
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	s := b.ledger.session(call.Scope, now, b.idle)
	stopped := b.session.stops(&s.all, cost)
	if stopped == nil {
		if stopped = b.classes[class].stops(&s.classes[class], cost); stopped != nil {
			stopped.Class = class.String()
		}
	}
	if stopped != nil && stopped.After != never {
		stopped.After = max(s.last+s.idle-now, time.Millisecond)
	}
	if stopped == nil {
		stopped = s.calls.loop(b.rounds, id, now)
	}
	if stopped != nil {
		stopped.Tool = call.Tool
		if stopped.After == never {
			stopped.After = 0
		}
		return taking{}, stopped
	}
	s.flying++
	s.last = now
	s.all.add(1, cost, 0)
	s.classes[class].add(1, cost, 0)
	return taking{session: s, class: class, cost: cost, place: s.calls.begin(b.rounds, id, now)}, nil
}

// settle takes what the call really cost.
func (b *budget) settle(t taking, e ending) {
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	s := t.session
	s.flying--
	s.last = max(s.last, e.at)
	s.calls.end(t.place, e.answer)
	calls, cost := 0, 0.0
	if e.returned {
		calls, cost = -1, -t.cost
	}
	s.all.add(calls, cost, e.took)
	s.classes[t.class].add(calls, cost, e.took)
}

func (s *Spent) add(calls int, cost float64, took time.Duration) {
	s.Calls += calls
	s.Cost = max(0, s.Cost+cost)
	s.Time += took
}

const never time.Duration = -1

// stops says which limit another call would break.
func (l Limit) stops(spent *Spent, cost float64) *StoppedError {
	switch {
	case l.Calls > 0 && spent.Calls >= l.Calls:
		return &StoppedError{Reason: Calls, Spent: *spent, Limit: l}
	case l.Cost > 0 && cost > l.Cost:
		return &StoppedError{Reason: Cost, Spent: *spent, Limit: l, After: never}
	case l.Cost > 0 && spent.Cost+cost > l.Cost:
		return &StoppedError{Reason: Cost, Spent: *spent, Limit: l}
	case l.Time > 0 && spent.Time >= l.Time:
		return &StoppedError{Reason: Time, Spent: *spent, Limit: l}
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
