package postgres

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// maxStanding is the maximum number of remembered approvals of one scope.
	maxStanding = 10_000
	sweepEvery  = 10 * time.Minute
	// sweepAgain is when the next sweep is due after one that has deleted maxSweep rows of a table, so that sweeps keep up
	// with many calls, and no call waits long for one.
	sweepAgain = time.Second
	maxSweep   = 1000
)

// has reports whether an error has one of some codes of SQLSTATE.
func has(err error, codes ...string) bool {
	its, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(codes, its.Code)
}

// A document is written as JSON.
type document struct{ value any }

// Value implements [driver.Valuer].
func (d document) Value() (driver.Value, error) {
	text, err := json.Marshal(d.value)
	return string(text), err
}

// Add implements [approvals.Store].
func (s *Store) Add(ctx context.Context, a approvals.Approval) error {
	switch {
	case a.ID == "":
		return errors.New("postgres: an approval needs an ID")
	case a.State == approvals.Pending && a.Standing == "", a.State == approvals.Approved && a.Standing != "":
	default:
		return fmt.Errorf("postgres: an approval cannot begin as %q", a.State)
	}
	if s.due() {
		_ = s.sweep(ctx) // what fails is done by a later one
	}
	var effect bool
	err := s.one(ctx, "add", []any{
		a.ID, string(a.State), a.Scope, a.Server, a.Tool, a.Standing, time.Until(a.Until).Seconds(), a.By, document{a},
	}, &effect)
	if has(err, "23505") { // unique_violation
		return fmt.Errorf("postgres: the approval %s exists already", a.ID)
	}
	if err == nil && !effect {
		return &approvals.NoEffectError{ID: a.Standing, Was: approvals.Void, To: a.State}
	}
	return err
}

// Advance implements [approvals.Store].
func (s *Store) Advance(ctx context.Context, id string, change approvals.Change) error {
	if change.To == approvals.Approved && change.Until.IsZero() {
		return errors.New("postgres: an approval needs a time when it expires")
	}
	var from []string
	for _, state := range []approvals.State{approvals.Pending, approvals.Approved, approvals.Spent} {
		if state.CanBecome(change.To) {
			from = append(from, string(state))
		}
	}
	var effect bool
	var was string
	err := s.one(ctx, "advance", []any{id, string(change.To), from, time.Until(change.Until).Seconds(), change.By, document{change}}, &effect, &was)
	if has(err, "22021", "22P05") { // no text can have this ID
		err = nil
	}
	if err == nil && !effect {
		return &approvals.NoEffectError{ID: id, Was: approvals.State(was), To: change.To}
	}
	return err
}

// Remember implements [approvals.Store].
func (s *Store) Remember(ctx context.Context, y approvals.Standing) error {
	if err := y.Check(); err != nil {
		return err
	}
	details := y
	details.Pattern, details.Reason = nil, "" // they may have texts of arguments
	var kept bool
	err := s.one(ctx, "remember", []any{
		y.Scope, y.ID, y.Server, y.Tool, time.Until(y.Until).Seconds(), y.Uses, document{y}, maxStanding, y.By, document{details},
	}, &kept)
	if err == nil && !kept {
		return fmt.Errorf("postgres: %d approvals of this scope are remembered already; forget some", maxStanding)
	}
	return err
}

// Remembered implements [approvals.Store].
func (s *Store) Remembered(ctx context.Context, scope, server, tool string) ([]approvals.Standing, error) {
	if server == "" && tool == "" {
		return s.read(ctx, "remembered", scope)
	}
	return s.read(ctx, "rememberedtool", scope, server, tool)
}

// Find implements [approvals.Finder].
func (s *Store) Find(ctx context.Context, scope, server, tool, arguments string) ([]approvals.Standing, error) {
	return s.read(ctx, "find", scope, server, tool, arguments)
}

// List implements [approvals.Store].
func (s *Store) List(ctx context.Context) ([]approvals.Standing, error) {
	return s.read(ctx, "list")
}

// read returns the remembered approvals that a statement selects, by their time.
func (s *Store) read(ctx context.Context, statement string, args ...any) ([]approvals.Standing, error) {
	began := time.Now()
	var found []approvals.Standing
	var form []byte
	var uses, invalid int
	var left float64
	var valid bool
	err := s.query(ctx, statement, args, []any{&form, &uses, &left, &valid}, func() error {
		if !valid {
			invalid++
			return nil
		}
		var y approvals.Standing
		if err := json.Unmarshal(form, &y); err != nil {
			return fmt.Errorf("a remembered approval is damaged: %w", err)
		}
		y.Uses, y.Until = uses, began.Add(time.Duration(left*float64(time.Second))) // by this process' clock
		found = append(found, y)
		return nil
	})
	if err == nil && invalid > 0 {
		err = s.restored(ctx)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Forget implements [approvals.Store].
func (s *Store) Forget(ctx context.Context, scope, id string) error {
	return s.one(ctx, "forget", []any{scope, id}, new(bool))
}
