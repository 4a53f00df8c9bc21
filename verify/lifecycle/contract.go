package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// A contract is the contract of approvals.Store and nothing else: small, and a value that can be copied. Time passes
// when the explorer decides so (see over). That the stores keep it is compared by TestStoresKeepTheContract.
type contract struct {
	asked    []asked
	standing []approvals.Standing
}

// An asked is an approval in the store.
type asked struct {
	id, rule string
	state    approvals.State
	late     bool // its time is over
}

var _ approvals.Store = (*contract)(nil)

func (c *contract) clone() contract {
	return contract{asked: slices.Clone(c.asked), standing: slices.Clone(c.standing)}
}

func (c *contract) find(id string) *asked {
	for i := range c.asked {
		if c.asked[i].id == id {
			return &c.asked[i]
		}
	}
	return nil
}

func (c *contract) state(id string) approvals.State {
	if a := c.find(id); a != nil {
		return a.state
	}
	return ""
}

func (c *contract) rule(id string) *approvals.Standing {
	for i := range c.standing {
		if c.standing[i].ID == id {
			return &c.standing[i]
		}
	}
	return nil
}

func (c *contract) Add(_ context.Context, a approvals.Approval) error {
	switch {
	case c.find(a.ID) != nil:
		return errors.New("it is known already")
	case a.State == approvals.Approved && c.rule(a.Standing) == nil:
		return &approvals.NoEffectError{ID: a.Standing, Was: approvals.Void, To: a.State}
	}
	c.asked = append(c.asked, asked{id: a.ID, rule: a.Standing, state: a.State})
	return nil
}

func (c *contract) Advance(_ context.Context, id string, change approvals.Change) error {
	a := c.find(id)
	switch to := change.To; {
	case a == nil:
		return &approvals.NoEffectError{ID: id, To: to}
	case to == approvals.Spent && a.rule != "" && c.rule(a.rule) == nil:
		return &approvals.NoEffectError{ID: id, Was: approvals.Void, To: to}
	case a.late && (to == approvals.Approved || to == approvals.Spent), !a.state.CanBecome(to):
		return &approvals.NoEffectError{ID: id, Was: a.state, To: to}
	}
	a.state = change.To
	return nil
}

func (c *contract) Remember(_ context.Context, s approvals.Standing) error {
	s.Since, s.Until = time.Time{}, time.Time{}
	if known := c.rule(s.ID); known != nil {
		*known = s
		return nil
	}
	c.standing = append(c.standing, s)
	return nil
}

func (c *contract) Remembered(_ context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	var all []approvals.Standing
	for _, s := range c.standing {
		if s.Scope == scope && s.Server == server && s.Tool == tool {
			all = append(all, s)
		}
	}
	return all, nil
}

func (c *contract) List(context.Context) ([]approvals.Standing, error) {
	return slices.Clone(c.standing), nil
}

func (c *contract) Forget(_ context.Context, _, id string) error {
	if c.rule(id) == nil {
		return nil
	}
	c.standing = slices.DeleteFunc(c.standing, func(s approvals.Standing) bool { return s.ID == id })
	if a := c.find(id); a != nil && a.state == approvals.Approved {
		a.state = approvals.Void
	}
	return nil
}

// over lets the time of an approval, and of a decision that was kept with its ID, be over.
func (c *contract) over(id string) {
	if a := c.find(id); a != nil {
		_ = c.Forget(context.Background(), "", id)
		a.late = true
	}
}

// restart is what the file does when no process has it open: what is open becomes void, save decisions that are kept.
func (c *contract) restart() {
	for i := range c.asked {
		a := &c.asked[i]
		if a.state.Open() && (a.state != approvals.Approved || c.rule(a.id) == nil) {
			a.state = approvals.Void
		}
	}
}

// appendKey appends what the store has, and puts it in the order of the IDs.
func (c *contract) appendKey(b []byte) []byte {
	slices.SortFunc(c.asked, func(x, y asked) int { return strings.Compare(x.id, y.id) })
	for _, a := range c.asked {
		b = appendFlags(appendText(b, a.id, a.rule, string(a.state)), a.late)
	}
	slices.SortFunc(c.standing, func(x, y approvals.Standing) int { return strings.Compare(x.ID, y.ID) })
	for _, s := range c.standing {
		b = appendFlags(appendText(b, s.ID), s.Once, s.Denied)
	}
	return b
}

var errDown = errors.New("the store is down")

// An outcome is how a write of the store ends.
type outcome uint8

const (
	ok      outcome = iota
	fails           // it is not made
	unheard         // it is made, and an error comes back
)

// A faulty store has one outcome for the writes of one step.
type faulty struct {
	*contract

	how outcome
}

func (f faulty) do(write func() error) error {
	if f.how == fails {
		return errDown
	}
	if err := write(); err != nil || f.how == ok {
		return err
	}
	return errDown
}

func (f faulty) Add(ctx context.Context, a approvals.Approval) error {
	return f.do(func() error { return f.contract.Add(ctx, a) })
}

func (f faulty) Advance(ctx context.Context, id string, c approvals.Change) error {
	return f.do(func() error { return f.contract.Advance(ctx, id, c) })
}

func (f faulty) Remember(ctx context.Context, s approvals.Standing) error {
	return f.do(func() error { return f.contract.Remember(ctx, s) })
}

func (f faulty) Remembered(ctx context.Context, scope, server, tool string) (all []approvals.Standing, err error) {
	err = f.do(func() (err error) { all, err = f.contract.Remembered(ctx, scope, server, tool); return err })
	return all, err
}

func (f faulty) Forget(ctx context.Context, scope, id string) error {
	return f.do(func() error { return f.contract.Forget(ctx, scope, id) })
}
