package doubt

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
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
	// Max is how many calls are kept; 0 means 1,000. For the next, the oldest call of the scope that has the most is
	// dropped, so that one tenant does not drop the calls of others.
	Max int
	// Lifetime is how long a call is in doubt; 0 means 24 hours.
	Lifetime time.Duration
	// Store keeps what is in doubt for all replicas of a host. A call that is not harmless to repeat is then refused
	// while the store does not answer, since it could be a repetition. Put [Intent] into the chain as well, so that
	// a call is in doubt if its replica is lost. Nil keeps it in memory.
	Store Store
	// Logger gets a Warn for each call that is dropped or expires; nil is silent.
	Logger *slog.Logger
}

// A Ledger keeps the calls in doubt, in memory or in a [Store]. It is safe for concurrent use. The zero value is not
// ready; use [NewLedger].
type Ledger struct {
	max      int
	lifetime time.Duration
	log      *slog.Logger
	shared   Store  // nil for none
	replica  string // the name of this ledger in the store

	mu      sync.Mutex
	entries []*entry                     // in this process alone, by time
	shows   map[string]map[toolName]bool // for each tool that reads, those that it shows the effect of
	owed    []*entry                     // of the store that could not be removed from it yet
}

// An entry is one call in doubt.
type entry struct {
	Entry

	shared bool // it is in the store
}

type toolName struct{ server, tool string }

func (e *entry) attrs() []slog.Attr {
	return []slog.Attr{slog.String("call", e.ID), slog.String("tool", e.Server+"/"+e.Tool), slog.String("scope", e.Scope), slog.Time("at", e.Time)}
}

// NewLedger returns an empty ledger in memory. It panics on a negative number.
func NewLedger(o LedgerOptions) *Ledger {
	fault.RefuseNegative("doubt: LedgerOptions", o)
	return &Ledger{
		max: cmp.Or(o.Max, 1000), lifetime: cmp.Or(o.Lifetime, 24*time.Hour), log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		shared: o.Store, replica: rand.Text(), shows: make(map[string]map[toolName]bool),
	}
}

// Add enters a call of an earlier process whose outcome is unknown, such as one that
// audit.File.InDoubt returns. One that has expired is left out.
func (l *Ledger) Add(call Call) {
	if time.Since(call.Time) < l.lifetime {
		l.enter(&entry{Entry: Entry{Call: call}})
	}
}

// Open returns the calls that are in doubt now in this process, the oldest first; those of a [Store] are not listed.
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
	its := func(e *entry) bool {
		return e.ID == call.ID && e.Scope == call.Scope && e.Server == call.Tool.Server && e.Tool == call.Tool.Name()
	}
	found, _ := l.sharedOf(ctx, call.Scope, toolName{call.Tool.Server, call.Tool.Name()}) // what is not found stays in doubt
	for _, e := range l.settle(ctx, append(l.match(its), slices.DeleteFunc(found, func(e *entry) bool { return !its(e) })...)) {
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
		l.drop(l.fullest(), "doubt: a call is dropped, since too many are in doubt")
	}
}

// fullest returns where the oldest entry of the scope is that has the most, so that a scope that fills the ledger drops
// its own. The lock is held.
func (l *Ledger) fullest() (at int) {
	count, most := make(map[string]int), ""
	for _, e := range l.entries {
		if count[e.Scope]++; count[e.Scope] > count[most] {
			most = e.Scope
		}
	}
	return slices.IndexFunc(l.entries, func(e *entry) bool { return e.Scope == most })
}

// drop forgets an entry. The lock is held.
func (l *Ledger) drop(at int, why string) {
	l.log.Warn(why, slog.Any("doubt", slog.GroupValue(l.entries[at].attrs()...)))
	l.entries = slices.Delete(l.entries, at, at+1)
}

// match returns the entries that have not expired and that fit, the oldest first.
func (l *Ledger) match(fits func(*entry) bool) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.entries) > 0 && time.Since(l.entries[0].Time) >= l.lifetime {
		l.drop(0, "doubt: a call expires, and its outcome is still unknown")
	}
	return slices.DeleteFunc(slices.Clone(l.entries), func(e *entry) bool { return !fits(e) })
}

// find returns the entries that a call would repeat. Those that came from a record have arguments without secrets, so
// the call's are compared in that form.
func (l *Ledger) find(ctx context.Context, call *middleware.Call, effect string) ([]*entry, error) {
	server, name := call.Tool.Server, call.Tool.Name()
	var shown json.RawMessage // the arguments as a record has them
	own := l.match(func(e *entry) bool {
		switch {
		case e.Scope != call.Scope || e.Server != server || e.Tool != name:
			return false
		case continues(call, e):
			return false
		case e.Effect != "":
			return e.Effect == effect
		case e.Arguments == nil:
			return true
		case shown == nil:
			shown = new(redact.Redactor).Arguments(*call)
		}
		return bytes.Equal(shown, e.Arguments)
	})
	if harmless(call.Tool) {
		return own, nil // which no replica enters
	}
	found, err := l.sharedOf(ctx, call.Scope, toolName{server, name})
	if err != nil {
		return nil, &UnavailableError{Tool: call.Tool, Err: err}
	}
	for _, e := range found {
		// Calls that this process makes at the same time do not hold each other. One of another replica does, which
		// may be lost.
		if e.Replica != l.replica && !continues(call, e) && (e.Effect == "" || e.Effect == effect) {
			own = append(own, e)
		}
	}
	slices.SortStableFunc(own, func(x, y *entry) int { return x.Time.Compare(y.Time) })
	return own, nil
}

// continues reports whether a call goes on with one that is in doubt, such as with input for its task, and so does not
// repeat it.
func continues(call *middleware.Call, e *entry) bool {
	return call.Input != nil && e.ID != "" && e.ID == call.ID
}

// hold marks the entries as told to the model, with the read that shows their effect, and reports whether one is new.
func (l *Ledger) hold(ctx context.Context, all []*entry, read string) (first bool) {
	for _, e := range all {
		if e.shared {
			told, err := l.shared.Tell(ctx, e.Entry)
			first = first || told || err != nil // it is held again, if it is unknown whether it was
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range all {
		if e.shared {
			continue
		}
		first = first || !e.Told
		e.Told, e.Read = true, cmp.Or(read, e.Read)
	}
	return first
}

// settle takes the entries out and returns those that were still in.
func (l *Ledger) settle(ctx context.Context, all []*entry) (gone []*entry) {
	l.mu.Lock()
	gone = slices.DeleteFunc(slices.Clone(l.entries), func(e *entry) bool { return !slices.Contains(all, e) })
	l.entries = slices.DeleteFunc(l.entries, func(e *entry) bool { return slices.Contains(gone, e) })
	l.mu.Unlock()
	for _, e := range all {
		if e.shared && l.remove(ctx, e) {
			gone = append(gone, e)
		}
	}
	return gone
}
