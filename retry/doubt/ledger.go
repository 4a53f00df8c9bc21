package doubt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Call is one that may have happened.
type Call struct {
	ID, Scope, Server, Tool string
	Time                    time.Time
	// Arguments are those of a call that [Ledger.Add] was given: as a record has them, without secrets. Nil
	// means that they are unknown, so that any call of the tool may be the same.
	Arguments json.RawMessage
}

// LedgerOptions are the settings of [NewLedger]. The zero value is ready.
type LedgerOptions struct {
	// Max is how many calls are kept; 0 means 1,000. The oldest is dropped for the next.
	Max int
	// Lifetime is how long a call is in doubt; 0 means 24 hours.
	Lifetime time.Duration
	// Logger gets a Warn for each call that is dropped or expires; nil is silent.
	Logger *slog.Logger
}

// A Ledger keeps the calls in doubt, in memory. It is safe for concurrent use. The zero value is not ready; use
// [NewLedger].
type Ledger struct {
	max      int
	lifetime time.Duration
	log      *slog.Logger

	mu      sync.Mutex
	entries []*entry // by time
}

// An entry is one call in doubt.
type entry struct {
	Call

	exact effect
	read  string // the tool that shows whether it has happened
	told  bool   // a call with its effect was held
}

func (e *entry) attrs() []slog.Attr {
	return []slog.Attr{slog.String("call", e.ID), slog.String("tool", e.Server+"/"+e.Tool), slog.String("scope", e.Scope), slog.Time("at", e.Time)}
}

// NewLedger returns an empty ledger in memory. It panics on a negative number.
func NewLedger(o LedgerOptions) *Ledger {
	fault.RefuseNegative("doubt: LedgerOptions", o)
	return &Ledger{
		max: cmp.Or(o.Max, 1000), lifetime: cmp.Or(o.Lifetime, 24*time.Hour), log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
	}
}

// Add enters a call of an earlier process whose outcome is unknown, such as one that
// audit.File.InDoubt returns. One that has expired is left out.
func (l *Ledger) Add(call Call) {
	if time.Since(call.Time) < l.lifetime {
		l.enter(&entry{Call: call})
	}
}

// Open returns the calls that are in doubt now, the oldest first.
func (l *Ledger) Open() []Call {
	var all []Call
	for _, e := range l.match(func(*entry) bool { return true }) {
		all = append(all, e.Call)
	}
	return all
}

// Settle removes a call whose outcome has become known. It has the ID, Scope and Tool of the call in doubt; by
// is what it was learned from, for the call record of ctx and the log.
func (l *Ledger) Settle(ctx context.Context, call middleware.Call, by string) {
	for _, e := range l.settle(l.match(func(e *entry) bool {
		return e.ID == call.ID && e.Scope == call.Scope && e.Server == call.Tool.Server && e.Tool == call.Tool.Name()
	})) {
		note(ctx, l.log, "settled by "+by, e, "")
	}
}

func (l *Ledger) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries) == 0
}

func (l *Ledger) enter(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := slices.BinarySearchFunc(l.entries, e.Time, func(e *entry, t time.Time) int { return e.Time.Compare(t) })
	l.entries = slices.Insert(l.entries, at, e)
	for len(l.entries) > l.max {
		l.drop("doubt: a call is dropped, since too many are in doubt")
	}
}

// drop forgets the oldest entry. The lock is held.
func (l *Ledger) drop(why string) {
	l.log.Warn(why, slog.Any("doubt", slog.GroupValue(l.entries[0].attrs()...)))
	l.entries = slices.Delete(l.entries, 0, 1)
}

// match returns the entries that have not expired and that fit, the oldest first.
func (l *Ledger) match(fits func(*entry) bool) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.entries) > 0 && time.Since(l.entries[0].Time) >= l.lifetime {
		l.drop("doubt: a call expires, and its outcome is still unknown")
	}
	return slices.DeleteFunc(slices.Clone(l.entries), func(e *entry) bool { return !fits(e) })
}

// find returns the entries that a call would repeat. Those that came from a record have arguments without secrets, so
// the call's are compared in that form.
func (l *Ledger) find(call *middleware.Call, effect effect) []*entry {
	server, name := call.Tool.Server, call.Tool.Name()
	var shown json.RawMessage // the arguments as a record has them
	return l.match(func(e *entry) bool {
		switch {
		case e.Scope != call.Scope || e.Server != server || e.Tool != name:
			return false
		case e.exact.kind != 0:
			return e.exact == effect
		case e.Arguments == nil:
			return true
		case shown == nil:
			shown = new(redact.Redactor).Arguments(*call)
		}
		return bytes.Equal(shown, e.Arguments)
	})
}

// hold marks the entries as told to the model, with the read that shows their effect, and reports whether one is new.
func (l *Ledger) hold(all []*entry, read string) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range all {
		first = first || !e.told
		e.told, e.read = true, cmp.Or(read, e.read)
	}
	return first
}

// settle takes the entries out and returns those that were still in.
func (l *Ledger) settle(all []*entry) (gone []*entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	gone = slices.DeleteFunc(slices.Clone(l.entries), func(e *entry) bool { return !slices.Contains(all, e) })
	l.entries = slices.DeleteFunc(l.entries, func(e *entry) bool { return slices.Contains(gone, e) })
	return gone
}
