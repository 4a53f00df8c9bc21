package approvals

// The book is what Memory and File have in common: the state of a store, and the rules by which it changes. Every
// change is an entry. commit checks an entry against the state, writes it, and only then applies it, so that a change
// which cannot be written has not happened. A file is read back by the same steps without the writing: check with a
// zero time, since the entry was in time when it was written, and apply.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// What a book keeps. The approvals that are open are bounded by those who ask.
const (
	maxEnded    = 1000   // approvals that are over, for late answers
	maxStanding = 10_000 // remembered approvals of one scope that have not expired, so that no scope takes another's place
)

// An entry is one change of a store, and one line of its file.
type entry struct {
	At       time.Time `json:"at"`
	Op       op        `json:"op"`
	Approval *Approval `json:"approval,omitempty"`
	ID       string    `json:"id,omitempty"`
	Change   *Change   `json:"change,omitempty"`
	Standing *Standing `json:"standing,omitempty"`
	Scope    string    `json:"-"` // of what is forgotten
	Why      string    `json:"why,omitempty"`
}

// An op is the kind of an entry, and determines which of its fields are set.
type op string

const (
	asked      op = "asked"
	advanced   op = "advanced"
	noEffect   op = "no effect" // for the record
	remembered op = "remembered"
	forgotten  op = "forgotten"
)

// A book is a store whose changes are written before they count, behind a lock.
type book struct {
	write func(entry) error
	// lock has the book brought up to date with what other processes have written, and keeps
	// them from writing more until release is called, if it is for a change.
	lock func(change bool) (release func(), err error)

	mu        sync.Mutex
	approvals map[string]Approval
	ended     []string                       // oldest first
	standing  map[string]map[string]Standing // by scope and ID
	rows      map[toolKey][]given            // of a history, oldest first
}

func newBook(write func(entry) error) book {
	alone := func(bool) (func(), error) { return func() {}, nil }
	return book{
		write: write, lock: alone, approvals: make(map[string]Approval), standing: make(map[string]map[string]Standing), rows: make(map[toolKey][]given),
	}
}

func (b *book) Add(_ context.Context, a Approval) error {
	return b.commit(entry{Op: asked, Approval: &a})
}

func (b *book) Advance(_ context.Context, id string, change Change) error {
	return b.commit(entry{Op: advanced, ID: id, Change: &change})
}

func (b *book) Remember(_ context.Context, s Standing) error {
	return b.commit(entry{Op: remembered, Standing: &s})
}

func (b *book) Remembered(_ context.Context, scope, server, tool string) ([]Standing, error) {
	return b.find(&scope, func(s Standing) bool { return server == "" && tool == "" || s.Server == server && s.Tool == tool })
}

func (b *book) List(context.Context) ([]Standing, error) {
	return b.find(nil, func(Standing) bool { return true })
}

// find returns what fits of one scope, or of all if it is nil. The first to expire comes first.
func (b *book) find(scope *string, fits func(Standing) bool) ([]Standing, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	release, err := b.lock(false)
	if err != nil {
		return nil, err
	}
	defer release()
	scopes := b.standing
	if scope != nil {
		scopes = map[string]map[string]Standing{*scope: b.standing[*scope]}
	}
	b.expire(scopes)
	var found []Standing
	for _, its := range scopes {
		for _, s := range its {
			if fits(s) {
				s.Pattern = slices.Clone(s.Pattern)
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(x, y Standing) int { return x.Until.Compare(y.Until) })
	return found, nil
}

func (b *book) Forget(_ context.Context, scope, id string) error {
	return b.commit(entry{Op: forgotten, ID: id, Scope: scope})
}

// commit makes one change, while no other goroutine or process makes one.
func (b *book) commit(e entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	release, err := b.lock(true)
	if err != nil {
		return err
	}
	defer release()
	if _, there := b.standing[e.Scope][e.ID]; e.Op == forgotten && !there {
		return nil
	}
	return b.make(e)
}

// make is commit for a caller that has the lock.
func (b *book) make(e entry) error {
	now := time.Now()
	e.At = now.UTC()
	err := b.check(e, now)
	if errors.Is(err, ErrNoEffect) {
		return errors.Join(err, b.write(entry{At: e.At, Op: noEffect, ID: e.ID, Change: e.Change, Why: err.Error()}))
	}
	if err == nil {
		err = b.write(e)
	}
	if err == nil {
		b.apply(e)
	}
	return err
}

// check returns what keeps an entry from being made. Now is zero for one that was made
// before, for which it was in time.
func (b *book) check(e entry, now time.Time) error {
	switch {
	case e.Op == asked && e.Approval != nil:
		return b.checkNew(*e.Approval, now)
	case e.Op == advanced && e.Change != nil:
		a, to := b.approvals[e.ID], e.Change.To
		late := (to == Approved || to == Spent) && !now.IsZero() && !now.Before(a.Until)
		switch {
		case to == Spent && !now.IsZero() && !b.stands(a, now):
			return &NoEffectError{ID: e.ID, Was: Void, To: to}
		case late || !a.State.CanBecome(to):
			return &NoEffectError{ID: e.ID, Was: a.State, To: to}
		case to == Approved && e.Change.Until.IsZero():
			return errors.New("approvals: an approval needs a time when it expires")
		}
	case e.Op == remembered && e.Standing != nil:
		if err := e.Standing.Check(); err != nil || now.IsZero() {
			return err
		}
		b.expire(b.standing)
		if len(b.standing[e.Standing.Scope]) >= maxStanding {
			return fmt.Errorf("approvals: %d approvals of this scope are remembered already; forget some", maxStanding)
		}
	case e.Op != forgotten && e.Op != noEffect:
		return fmt.Errorf("approvals: unknown entry %q; was it written by a later version of the program?", e.Op)
	}
	return nil
}

// stands reports whether the remembered approval that answered is still there, if one did.
func (b *book) stands(a Approval, now time.Time) bool {
	s, there := b.standing[a.Scope][a.Standing]
	return a.Standing == "" || there && now.Before(s.Until)
}

// checkNew returns what keeps an approval from being added: it begins as Pending, or as Approved by a remembered one.
func (b *book) checkNew(a Approval, now time.Time) error {
	switch _, known := b.approvals[a.ID]; {
	case a.ID == "":
		return errors.New("approvals: an approval needs an ID")
	case known:
		return fmt.Errorf("approvals: %s is known already", a.ID)
	case !now.IsZero() && a.State == Approved && !b.stands(a, now):
		return &NoEffectError{ID: a.Standing, Was: Void, To: Approved}
	case a.State == Pending && a.Standing == "", a.State == Approved && a.Standing != "":
		return nil
	}
	return fmt.Errorf("approvals: an approval cannot begin as %q", a.State)
}

// apply changes the state by an entry that check has let pass. It cannot fail.
func (b *book) apply(e entry) {
	switch e.Op {
	case asked:
		a := *e.Approval
		a.Drafts = slices.Clone(a.Drafts)
		b.approvals[a.ID] = a
		if s, there := b.standing[a.Scope][a.Standing]; there {
			s.Uses++
			b.standing[a.Scope][a.Standing] = s
		}
	case advanced:
		b.advance(e.ID, *e.Change)
		if to := e.Change.To; to == Approved || to == Denied {
			b.decided(b.approvals[e.ID], e.At)
		}
	case remembered:
		s := *e.Standing
		if b.standing[s.Scope] == nil {
			b.standing[s.Scope] = make(map[string]Standing)
		}
		b.standing[s.Scope][s.ID] = s
	case forgotten:
		for _, its := range b.standing { // the entry does not hold its scope
			delete(its, e.ID)
		}
		b.void(e.ID)
	case noEffect:
	}
}

// void ends the approval that a remembered approval for one call has let wait.
func (b *book) void(id string) {
	if b.approvals[id].State == Approved {
		b.advance(id, Change{To: Void})
	}
}

// advance sets the state of an approval, and drops the oldest of those that are over.
func (b *book) advance(id string, c Change) {
	a := b.approvals[id]
	a.State, a.By = c.To, cmp.Or(c.By, a.By)
	if c.To == Approved {
		a.Until = c.Until
	}
	if c.Edited {
		a.Edited, a.Arguments = true, c.Arguments
	}
	b.approvals[id] = a
	if a.State.Open() {
		return
	}
	if b.ended = append(b.ended, id); len(b.ended) > maxEnded {
		delete(b.approvals, b.ended[0])
		b.ended = b.ended[1:]
	}
}

// expire drops the remembered approvals of some scopes whose time is over.
func (b *book) expire(scopes map[string]map[string]Standing) {
	now := time.Now()
	for scope, its := range scopes {
		maps.DeleteFunc(its, func(id string, s Standing) bool {
			if !now.Before(s.Until) {
				b.void(id)
			}
			return !now.Before(s.Until)
		})
		if len(its) == 0 {
			delete(b.standing, scope)
		}
	}
}

// A memory is a Store in memory.
type memory struct{ book }

// NewMemory returns an empty store in memory, gone when the process ends.
func NewMemory() Store { return &memory{newBook(func(entry) error { return nil })} }
