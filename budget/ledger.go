package budget

import (
	"context"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxSessions is how many sessions are kept. While none of them is over, all further
// ones share one, so that no session's budget is forgotten for want of room.
const maxSessions = 10_000

// A Ledger holds what sessions have spent. It is safe for concurrent use. The zero value
// is not ready; use NewLedger.
type Ledger struct {
	born    time.Time
	seed    maphash.Seed
	written spellings
	most    int // sessions

	// The sessions of late, by the hash of their scope, so that two of them need not
	// wait for one another: the ledger's mutex is for which sessions there are.
	late [1024]atomic.Pointer[session]

	mu       sync.Mutex // guards what follows; taken before a session's
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
	if s, ok := l.sessions.Peek(scope); ok {
		s.mu.Lock()
		s.gone = true
		s.mu.Unlock()
		l.sessions.Remove(scope)
	}
}

// A session is what one scope has spent since it last began.
type session struct {
	scope string
	idle  time.Duration

	mu      sync.Mutex // guards what follows
	all     Spent
	classes [annotation.Safe + 1]Spent
	calls   history
	flying  int           // calls under way
	last    time.Duration // when one began or came back, by the ledger's clock
	moved   time.Duration // when it was last moved up among the sessions
	gone    bool          // it is no longer its scope's

	// Room up to 256 bytes, so that two cores never write to two sessions in one cache
	// line.
	_ [40]byte
}

func (s *session) over(now time.Duration) bool {
	return s.flying == 0 && now-s.last >= s.idle
}

// end reports whether the session is over, and nobody goes on with it then. The
// caller holds the ledger's mutex.
func (s *session) end(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = s.gone || s.over(now)
	return s.gone
}

// enter returns the session of a scope, locked. One that goes on is moved up now and
// then only, and found without the ledger's mutex meanwhile.
func (l *Ledger) enter(scope string, now, idle time.Duration) *session {
	late := &l.late[0]
	if scope != "" {
		late = &l.late[maphash.String(l.seed, scope)%uint64(len(l.late))]
	}
	if s := late.Load(); s != nil && s.scope == scope {
		s.mu.Lock()
		if !s.gone && !s.over(now) && now-s.moved < s.idle/8 {
			return s
		}
		s.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session(scope, now, idle)
	if s != l.crowd {
		late.Store(s)
	}
	s.mu.Lock()
	s.moved = now
	return s
}

// session returns that of a scope. The caller holds the mutex.
func (l *Ledger) session(scope string, now, idle time.Duration) *session {
	if s, ok := l.sessions.Get(scope); ok && !s.end(now) {
		return s
	}
	if l.crowd != nil && l.crowd.end(now) {
		l.crowd = nil
	}
	if !l.sessions.Contains(scope) && l.sessions.Len() >= l.most && !l.dropOne(now) {
		if l.crowd == nil {
			l.crowd = &session{last: now, idle: idle}
		}
		return l.crowd
	}
	s := &session{scope: scope, last: now, idle: idle}
	if c := l.crowd; c != nil { // perhaps it has spent something there
		c.mu.Lock()
		s.all, s.classes = c.all, c.classes
		c.mu.Unlock()
	}
	l.sessions.Add(scope, s)
	return s
}

// dropOne makes room where one of the sessions that were used longest ago is over.
func (l *Ledger) dropOne(now time.Duration) bool {
	for range 4 {
		scope, s, ok := l.sessions.GetOldest()
		if ok && s.end(now) {
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
func (b *budget) take(ctx context.Context, now time.Duration, call *middleware.Call) (taking, *StoppedError) {
	id := b.ledger.identity(ctx, call)
	class := min(call.Tool.Safety(), annotation.Safe)
	cost := costOf(call.Tool)
	s := b.ledger.enter(call.Scope, now, b.idle)
	defer s.mu.Unlock()
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

const never time.Duration = -1

// stops says which limit another call would break.
func (l *Limit) stops(spent *Spent, cost float64) *StoppedError {
	switch {
	case l.Calls > 0 && spent.Calls >= l.Calls:
		return &StoppedError{Reason: Calls, Spent: *spent, Limit: *l}
	case l.Cost > 0 && cost > l.Cost:
		return &StoppedError{Reason: Cost, Spent: *spent, Limit: *l, After: never}
	case l.Cost > 0 && spent.Cost+cost > l.Cost:
		return &StoppedError{Reason: Cost, Spent: *spent, Limit: *l}
	case l.Time > 0 && spent.Time >= l.Time:
		return &StoppedError{Reason: Time, Spent: *spent, Limit: *l}
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
