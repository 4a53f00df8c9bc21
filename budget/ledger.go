package budget

import (
	"cmp"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A Ledger holds what sessions have spent. It is safe for concurrent use. Use [NewLedger].
type Ledger struct {
	born time.Time
	seed maphash.Seed

	mu       sync.Mutex // guards sessions; never taken while a session's is held
	sessions *simplelru.LRU[string, *session]
	newest   atomic.Pointer[session] // of sessions, which the next call mostly is of; nil for none; set under mu
}

// NewLedger returns an empty ledger for that many sessions; 0 means 100,000, which take 40 MB after one call each
// and at most 210 MB. One more ends the least recently used session, whose budget begins anew: no scope is
// refused because of others. NewLedger panics if sessions is negative.
func NewLedger(sessions int) *Ledger {
	fault.RefuseNegative("budget: the number of sessions", sessions)
	kept, _ := simplelru.NewLRU[string, *session](cmp.Or(sessions, 100_000), nil) // its one error is a size of 0 or less
	return &Ledger{born: time.Now(), seed: maphash.MakeSeed(), sessions: kept}
}

// now is how long the ledger has been there. It takes one reading of the clock, where time.Now takes two.
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
	s, ok := l.sessions.Peek(scope)
	l.mu.Unlock()
	if !ok {
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
	l.sessions.Remove(scope)
	l.newest.Store(nil)
}

// A session is what one scope has spent since it was idle. Its calls may end in any order, and after a newer session
// has taken its place in the ledger: each keeps the session that counted it.
type session struct {
	scope string
	idle  time.Duration // after which it is over, as its first call had it

	mu     sync.Mutex // guards what follows
	all    Spent
	calls  history
	flying int           // calls in flight
	last   time.Duration // when one began or came back, by the ledger's clock
}

// over reports whether the session has been idle for long enough. A call in flight keeps it.
func (s *session) over(now time.Duration) bool {
	return s.flying == 0 && now-s.last >= s.idle
}

// enter returns the session of a scope, locked, and begun anew if it is over.
func (l *Ledger) enter(scope string, now, idle time.Duration) *session {
	s := l.session(scope, now, idle)
	s.mu.Lock()
	if s.over(now) {
		s.all, s.calls = Spent{}, history{}
		s.idle, s.last = idle, now
	}
	return s
}

// session returns the session of a scope, and makes room for a new one by those that are over.
func (l *Ledger) session(scope string, now, idle time.Duration) *session {
	if s := l.newest.Load(); s != nil && s.scope == scope { // using it again changes no order
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions.Get(scope); ok {
		l.newest.Store(s)
		return s
	}
	for _, oldest, ok := l.sessions.GetOldest(); ok && oldest.ended(now); _, oldest, ok = l.sessions.GetOldest() {
		l.sessions.RemoveOldest()
	}
	s := &session{scope: scope, last: now, idle: idle}
	l.sessions.Add(scope, s)
	l.newest.Store(s)
	return s
}

// ended is over for a session that is not locked, and false if another call has locked it.
func (s *session) ended(now time.Duration) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	return s.over(now)
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

// stops returns the limit that another call would break; the budget begins anew after that time.
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

// costOf is what a call of the tool costs; a hint that is not a number costs more than there is.
func costOf(tool *middleware.Tool) float64 {
	if tool == nil || tool.Annotations.CostHint == nil {
		return 0
	}
	if c := *tool.Annotations.CostHint; c >= 0 {
		return c
	}
	return math.Inf(1)
}
