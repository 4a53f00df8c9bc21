package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// A Sessions keeps short texts about the sessions of clients for all replicas, each sealed to its name. Make one with
// [Store.Sessions]. It is safe for concurrent use.
type Sessions struct{ store *Store }

// Sessions returns what replicas know of each other's sessions, so that one can go on with another's. It needs
// [Options.Key] or [Options.Plain], and panics without both. A Redis that loses its memory loses the texts.
func (s *Store) Sessions() *Sessions {
	if !s.seal.allowed() {
		panic("redis: sessions are contents; give Options.Key, or allow plain text with Options.Plain")
	}
	return &Sessions{s}
}

// Keep keeps a text under a name for a time, in place of an earlier one.
func (s *Sessions) Keep(ctx context.Context, name string, text []byte, ttl time.Duration) error {
	if len(text) > s.store.maxValue {
		return fmt.Errorf("redis: the text has %d bytes, want at most %d", len(text), s.store.maxValue)
	}
	key := s.key(name)
	sealed, err := s.store.seal.seal(nil, key, text)
	if err != nil {
		return err
	}
	return s.store.do(ctx, ofSessions, key, func(ctx context.Context) error {
		return s.store.client.Set(ctx, key, sealed, ttl).Err()
	})
}

// Find returns the text of a name, and keeps it for a time from now on. The text is nil if there is none, or one that was
// not sealed for this name.
func (s *Sessions) Find(ctx context.Context, name string, ttl time.Duration) (text []byte, err error) {
	key := s.key(name)
	err = s.store.do(ctx, ofSessions, key, func(ctx context.Context) error {
		sealed, err := s.store.client.GetEx(ctx, key, ttl).Bytes()
		if errors.Is(err, goredis.Nil) {
			return nil
		}
		if err == nil {
			text, _ = s.store.seal.open(key, sealed)
		}
		return err
	})
	return text, err
}

func (s *Sessions) key(name string) string {
	return s.store.key("n", s.store.seal.name("session", name))
}
