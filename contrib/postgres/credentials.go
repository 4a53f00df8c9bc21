package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// A Credentials keeps what users were given by servers for all replicas, as values that the caller has sealed to their
// names, in the table credentials. Make one with [Store.Credentials]. It is safe for concurrent use. After a restore or a
// promotion none counts, as for approvals, and users sign in again.
type Credentials struct{ store *Store }

// Credentials returns what keeps users' credentials. It does not seal: the values have to be sealed already.
func (s *Store) Credentials() *Credentials { return &Credentials{s} }

const (
	// lockLasts is how long a lock counts whose holder has gone. It is longer than a token may take to be refreshed.
	lockLasts = 2 * time.Minute
	// lockPause is how long to wait before a lock that another holder has is tried again.
	lockPause = 50 * time.Millisecond
)

// Get returns the value of a name, nil if there is none.
func (c *Credentials) Get(ctx context.Context, name string) (value []byte, err error) {
	err = c.store.one(ctx, "credentialget", []any{name}, &value)
	return value, err
}

// All returns all values in no order.
func (c *Credentials) All(ctx context.Context) (all [][]byte, err error) {
	var value []byte
	err = c.store.query(ctx, "credentialget", []any{nil}, []any{&value}, func() error {
		all, value = append(all, value), nil
		return nil
	})
	return all, err
}

// A CredentialLock is held by one process. It ends two minutes after its holder has gone.
type CredentialLock struct {
	of           *Credentials
	name, holder string
}

// Lock waits until no other process has the lock of a name, or ctx is done.
func (c *Credentials) Lock(ctx context.Context, name string) (*CredentialLock, error) {
	l := &CredentialLock{of: c, name: name, holder: rand.Text()}
	for {
		var got bool
		err := c.store.one(ctx, "credentiallock", []any{name, l.holder, lockLasts.Seconds()}, &got)
		if err != nil || got {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockPause):
		}
	}
}

// Put keeps a value in place of an earlier one. It is an error if the lock has ended.
func (l *CredentialLock) Put(ctx context.Context, value []byte) error {
	if len(value) == 0 {
		return errors.New("postgres: the credential is empty")
	}
	return l.change(ctx, value)
}

// Remove removes the value. It is an error if the lock has ended.
func (l *CredentialLock) Remove(ctx context.Context) error { return l.change(ctx, nil) }

func (l *CredentialLock) change(ctx context.Context, value []byte) error {
	var done bool
	err := l.of.store.one(ctx, "credentialput", []any{l.name, l.holder, value}, &done)
	if err == nil && !done {
		return errors.New("postgres: the lock of the credential has ended, and nothing was changed; try again")
	}
	return err
}

// Close ends the lock.
func (l *CredentialLock) Close() error {
	return l.of.store.one(context.Background(), "credentialunlock", []any{l.name, l.holder}, new(bool))
}
