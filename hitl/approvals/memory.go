package approvals

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Memory is a store in memory, gone when the process ends. The zero value is not
// ready; use [NewMemory].
type Memory struct{ ledger }

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{ledger{book: newBook(), write: func(entry) error { return nil }}}
}

// A ledger is a book behind a lock. What it writes, it writes before the book
// changes.
type ledger struct {
	mu    sync.Mutex
	book  book
	write func(entry) error
}

// commit makes one change, or none.
func (l *ledger) commit(e entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commitLocked(e)
}

func (l *ledger) commitLocked(e entry) error {
	e.At = time.Now().UTC()
	err := l.book.legal(e)
	if err == nil {
		err = l.book.timely(e)
	}
	if errors.Is(err, ErrNoEffect) {
		return errors.Join(err, l.write(entry{At: e.At, Op: noEffect, ID: e.ID, Change: e.Change, Why: err.Error()}))
	}
	if err == nil {
		err = l.write(e)
	}
	if err == nil {
		l.book.apply(e)
	}
	return err
}

// Add implements [Store].
func (l *ledger) Add(_ context.Context, a Approval) error {
	return l.commit(entry{Op: asked, Approval: &a})
}

// Advance implements [Store].
func (l *ledger) Advance(_ context.Context, id string, change Change) error {
	return l.commit(entry{Op: advanced, ID: id, Change: &change})
}

// Remember implements [Store].
func (l *ledger) Remember(_ context.Context, s Standing) error {
	return l.commit(entry{Op: remembered, Standing: &s})
}

// Remembered implements [Store].
func (l *ledger) Remembered(_ context.Context, scope, server, tool string) ([]Standing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.of(scope, server, tool), nil
}

// Forget implements [Store].
func (l *ledger) Forget(_ context.Context, scope, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.book.standing[scope][id]; !ok {
		return nil
	}
	return l.commitLocked(entry{Op: forgotten, ID: id})
}
