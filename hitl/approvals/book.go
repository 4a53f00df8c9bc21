package approvals

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// What a book keeps. The approvals that are open are bounded by those who ask.
const (
	maxEnded    = 1000   // approvals that are over, so that a late answer hears what they became
	maxStanding = 10_000 // standing yeses of one scope that have not expired, so that no scope takes another's place
)

// An entry is one change of a book, and one line of a file.
type entry struct {
	At       time.Time `json:"at"`
	Op       op        `json:"op"`
	Approval *Approval `json:"approval,omitempty"`
	ID       string    `json:"id,omitempty"`
	Change   *Change   `json:"change,omitempty"`
	Standing *Standing `json:"standing,omitempty"`
	Why      string    `json:"why,omitempty"`
}

type op string

const (
	asked      op = "asked"
	advanced   op = "advanced"
	noEffect   op = "no effect" // for the record
	remembered op = "remembered"
	forgotten  op = "forgotten"
)

// A book is what a store knows. It is not safe for concurrent use.
type book struct {
	approvals map[string]Approval
	ended     []string                       // oldest first
	standing  map[string]map[string]Standing // by scope and ID
}

func newBook() book {
	return book{approvals: make(map[string]Approval), standing: make(map[string]map[string]Standing)}
}

// legal says what keeps an entry from being made, whatever the time.
func (b *book) legal(e entry) error {
	switch {
	case e.Op == asked && e.Approval != nil:
		return b.legalApproval(*e.Approval)
	case e.Op == advanced && e.Change != nil:
		a := b.approvals[e.ID]
		if !a.State.CanBecome(e.Change.To) {
			return &NoEffectError{ID: e.ID, Was: a.State, To: e.Change.To}
		}
		if e.Change.To == Approved && e.Change.Until.IsZero() {
			return errors.New("approvals: a yes needs a time when it expires")
		}
		return nil
	case e.Op == remembered && e.Standing != nil:
		return e.Standing.check()
	case e.Op == forgotten, e.Op == noEffect:
		return nil
	}
	return fmt.Errorf("approvals: %q is no entry", e.Op)
}

func (b *book) legalApproval(a Approval) error {
	switch _, known := b.approvals[a.ID]; {
	case a.ID == "":
		return errors.New("approvals: an approval needs an ID")
	case known:
		return fmt.Errorf("approvals: %s is known already", a.ID)
	case a.State == Pending && a.Standing == "", a.State == Approved && a.Standing != "":
		return nil
	}
	return fmt.Errorf("approvals: an approval cannot begin as %q", a.State)
}

// timely says what keeps an entry from being made now.
func (b *book) timely(e entry) error {
	switch e.Op {
	case advanced:
		a := b.approvals[e.ID]
		forward := e.Change.To == Approved || e.Change.To == Spent
		if forward && !time.Now().Before(a.Until) {
			return &NoEffectError{ID: e.ID, Was: a.State, To: e.Change.To}
		}
	case remembered:
		for scope := range b.standing {
			b.expire(scope)
		}
		if len(b.standing[e.Standing.Scope]) >= maxStanding {
			return fmt.Errorf("approvals: %d yeses of this scope are remembered already; forget some", maxStanding)
		}
	case asked, noEffect, forgotten:
	}
	return nil
}

// apply makes an entry that was found legal.
func (b *book) apply(e entry) {
	switch e.Op {
	case asked:
		a := *e.Approval
		a.Drafts = slices.Clone(a.Drafts)
		b.approvals[a.ID] = a
	case advanced:
		b.advance(e.ID, *e.Change)
	case remembered:
		b.remember(*e.Standing)
	case forgotten:
		for _, its := range b.standing { // the entry does not say whose it was
			delete(its, e.ID)
		}
	case noEffect:
	}
}

func (b *book) advance(id string, c Change) {
	a := b.approvals[id]
	a.State = c.To
	if c.By != "" {
		a.By = c.By
	}
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

func (b *book) remember(s Standing) {
	its := b.standing[s.Scope]
	if its == nil {
		its = make(map[string]Standing)
		b.standing[s.Scope] = its
	}
	its[s.ID] = s
}

// expire drops the standing yeses of a scope whose time is over.
func (b *book) expire(scope string) {
	now := time.Now()
	maps.DeleteFunc(b.standing[scope], func(_ string, s Standing) bool { return !now.Before(s.Until) })
	if len(b.standing[scope]) == 0 {
		delete(b.standing, scope)
	}
}

// of returns the standing yeses of a scope, the oldest first by their expiry.
func (b *book) of(scope, server, tool string) []Standing {
	b.expire(scope)
	var found []Standing
	for _, s := range b.standing[scope] {
		if server == "" && tool == "" || s.Server == server && s.Tool == tool {
			s.Pattern = slices.Clone(s.Pattern)
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(x, y Standing) int { return x.Until.Compare(y.Until) })
	return found
}

// open returns the approvals of which something may still come.
func (b *book) open() []Approval {
	var found []Approval
	for _, a := range b.approvals {
		if a.State.Open() {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(x, y Approval) int { return x.Until.Compare(y.Until) })
	return found
}
