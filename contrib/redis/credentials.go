package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// A Credentials keeps what users were given by servers for all replicas, as values that the caller has sealed to their
// names. Make one with [Store.Credentials]. It is safe for concurrent use.
//
// A Redis that loses its memory loses them, and users sign in again. One that is put back from a copy has those again that
// were removed since; they count as far as the server that gave them still takes them.
type Credentials struct{ store *Store }

// Credentials returns what keeps users' credentials. It does not seal: the values have to be sealed already.
func (s *Store) Credentials() *Credentials { return &Credentials{s} }

const (
	// lockLasts is how long a lock counts whose holder has gone. It is longer than a token may take to be refreshed.
	lockLasts = 2 * time.Minute
	// lockPause is how long to wait before a lock that another holder has is tried again.
	lockPause = 50 * time.Millisecond
)

var (
	changeCredential = strictScript("credential")
	unlock           = script("unlock")
)

// keys returns the keys of a credential and of its lock, in one slot of a cluster.
func (c *Credentials) keys(name string) []string {
	about := c.store.seal.name("credential", name)
	return []string{c.store.key("c", about), c.store.key("cl", about)}
}

// Get returns the value of a name, nil if there is none.
func (c *Credentials) Get(ctx context.Context, name string) (value []byte, err error) {
	key := c.keys(name)[0]
	err = c.store.do(ctx, ofCredentials, key, func(ctx context.Context) (err error) {
		value, err = c.store.client.Get(ctx, key).Bytes()
		if errors.Is(err, goredis.Nil) {
			return nil
		}
		return err
	})
	return value, err
}

// All returns all values in no order. It looks at every key of the Redis.
func (c *Credentials) All(ctx context.Context) (all [][]byte, err error) {
	var mu sync.Mutex
	scan := func(ctx context.Context, at goredis.UniversalClient) error {
		keys := at.Scan(ctx, 0, c.store.prefix+":c:*", 1000).Iterator()
		for keys.Next(ctx) {
			value, err := at.Get(ctx, keys.Val()).Bytes()
			if errors.Is(err, goredis.Nil) { // it was removed meanwhile
				continue
			}
			if err != nil {
				return err
			}
			mu.Lock()
			all = append(all, value)
			mu.Unlock()
		}
		return keys.Err()
	}
	if cluster, ok := c.store.client.(*goredis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, one *goredis.Client) error { return scan(ctx, one) })
	} else {
		err = scan(ctx, c.store.client)
	}
	if err != nil {
		return nil, fmt.Errorf("redis: %s: %w", ofCredentials, err)
	}
	return all, nil
}

// A CredentialLock is held by one process. It ends two minutes after its holder has gone.
type CredentialLock struct {
	of     *Credentials
	keys   []string
	holder string
}

// Lock waits until no other process has the lock of a name, or ctx is done.
func (c *Credentials) Lock(ctx context.Context, name string) (*CredentialLock, error) {
	l := &CredentialLock{of: c, keys: c.keys(name), holder: rand.Text()}
	for {
		var got bool
		err := c.store.do(ctx, ofCredentials, l.keys[1], func(ctx context.Context) error {
			err := c.store.client.SetArgs(ctx, l.keys[1], l.holder, goredis.SetArgs{Mode: "NX", TTL: lockLasts}).Err()
			if got = err == nil; errors.Is(err, goredis.Nil) {
				return nil
			}
			return err
		})
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
	if len(value) == 0 || len(value) > l.of.store.maxValue {
		return fmt.Errorf("redis: the credential has %d bytes, want 1 to %d", len(value), l.of.store.maxValue)
	}
	return l.change(ctx, value)
}

// Remove removes the value. It is an error if the lock has ended.
func (l *CredentialLock) Remove(ctx context.Context) error { return l.change(ctx, nil) }

func (l *CredentialLock) change(ctx context.Context, value []byte) error {
	done, err := l.of.store.run(ctx, ofCredentials, changeCredential, l.keys, l.holder, value).Bool()
	if err == nil && !done {
		return errors.New("redis: the lock of the credential has ended, and nothing was changed; try again")
	}
	return err
}

// Close ends the lock.
func (l *CredentialLock) Close() error {
	return l.of.store.run(context.Background(), ofCredentials, unlock, l.keys[1:], l.holder).Err()
}
