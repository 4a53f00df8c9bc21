package budget

import (
	"cmp"
	"context"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
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
}

type session struct {
	idle time.Duration

	mu      sync.Mutex // guards what follows
	all     Spent
	classes [annotation.Safe + 1]Spent
	calls   history
	flying  int           // calls in flight
	last    time.Duration // when one began or came back, by the ledger's clock
}

func (s *session) over(now time.Duration) bool {
	return s.flying == 0 && now-s.last >= s.idle
}

func (l *Ledger) enter(scope string, now, idle time.Duration) *session {
	s := l.session(scope, now, idle)
	s.mu.Lock()
	if s.over(now) {
		s.all, s.classes, s.calls = Spent{}, [len(s.classes)]Spent{}, history{}
		s.idle, s.last = idle, now
	}
	return s
}

func (l *Ledger) session(scope string, now, idle time.Duration) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions.Get(scope); ok {
		return s
	}
	for _, oldest, ok := l.sessions.GetOldest(); ok && oldest.ended(now); _, oldest, ok = l.sessions.GetOldest() {
		l.sessions.RemoveOldest()
	}
	s := &session{last: now, idle: idle}
	l.sessions.Add(scope, s)
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

type taking struct {
	session *session
	class   annotation.Safety
	cost    float64
	place   int // in the session's history
}

type ending struct {
	at, took time.Duration
	answer   uint64
	returned bool // it was not carried out
}

func (b *budget) take(ctx context.Context, now time.Duration, call *middleware.Call) (taking, *StoppedError) {
	this := entry{tool: call.Tool, written: maphash.Bytes(b.Ledger.seed, call.Arguments), at: now}
	class := min(call.Tool.Safety(), annotation.Safe)
	cost := costOf(call.Tool)
	s := b.Ledger.enter(call.Scope, now, b.Idle)
	defer s.mu.Unlock()
	anew := max(s.last+s.idle-now, time.Millisecond)
	stopped := b.Session.stops(&s.all, cost, anew)
	if stopped == nil {
		if stopped = b.classes[class].stops(&s.classes[class], cost, anew); stopped != nil {
			stopped.Class = class.String()
		}
	}
	if stopped == nil {
		this.call = s.calls.identity(ctx, b.Ledger.seed, this, call)
		stopped = s.calls.loop(&b.Options, this.call, now)
	}
	if stopped != nil {
		stopped.Tool = call.Tool
		return taking{}, stopped
	}
	s.flying++
	s.last = now
	s.all.add(1, cost, 0)
	s.classes[class].add(1, cost, 0)
	return taking{session: s, class: class, cost: cost, place: s.calls.begin(b.Repeats, this)}, nil
}

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
