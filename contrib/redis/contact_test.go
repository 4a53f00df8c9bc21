package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// A Redis that answers reads and refuses writes gets no report of a write either: no replica uses
// its values.
func TestReadOnlyRedisIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(t *testing.T, e *redistest.Server) error{
		"its writes are paused": func(t *testing.T, e *redistest.Server) error {
			t.Helper()
			return raw(t, e).Do(t.Context(), "CLIENT", "PAUSE", "60000", "WRITE").Err()
		},
		"it lacks copies": func(t *testing.T, e *redistest.Server) error {
			t.Helper()
			return raw(t, e).ConfigSet(t.Context(), "min-replicas-to-write", "1").Err()
		},
		"it is a copy now": func(t *testing.T, e *redistest.Server) error {
			t.Helper()
			return raw(t, e).ReplicaOf(t.Context(), "127.0.0.1", "1").Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.New(t)
			o := redis.Options{Key: key, Timeout: 500 * time.Millisecond}
			a, b := open(t, e.URL(), o).Cache(), open(t, e.URL(), o).Cache()
			keep(t, b, "one", "old")
			for range 2 { // by the script, and by the plain read
				knows(t, b, "one", "old")
			}
			must(t, trouble(t, e))
			w := cache.Write{ID: "w", Server: "crm"}
			if a.Begin(t.Context(), w) == nil || ended(t.Context(), a, w) == nil {
				t.Fatal("it got the report of a write")
			}
			if got := looks(t, b, "one", time.Second); len(got) > 0 {
				t.Errorf("after the write it answers %q, %d times", got[0], len(got))
			}
		})
	}
}

// Replicas find Redis again one after the other. The first replica that is back uses no value
// before the last has reported its writes, even many over a slow connection.
func TestFirstReplicaBackUsesNoCachedValue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writes int
		late   time.Duration
	}{
		"one write":                           {1, 0},
		"many writes, over a slow connection": {1000, 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.New(t)
			first, last := newWire(t, e.Port), newWire(t, e.Port)
			o := redis.Options{Key: key, Timeout: 2 * time.Second}
			b, a := open(t, first.url, o).Cache(), open(t, last.url, o).Cache()
			about := func(i int) cache.Read {
				q := question(fmt.Sprint(i))
				q.Entities = []cache.EntityKey{{byte(i), byte(i >> 8)}}
				return q
			}
			some := min(c.writes, 20)
			for i := range some {
				eventually(t, "nothing can be kept", func() bool {
					f, err := b.Look(t.Context(), about(i))
					return err == nil && f.Ticket != "" && b.Keep(t.Context(), about(i), f.Ticket, []byte("old"), time.Minute) == nil
				})
				eventually(t, "it is not found", func() bool { f, _ := b.Look(t.Context(), about(i)); return f.Value != nil })
			}
			first.cut(true)
			last.cut(true)
			for _, r := range []cache.Remote{a, b} {
				eventually(t, "an outage is not noticed", func() bool { _, err := r.Look(t.Context(), about(-1)); return err != nil })
			}
			time.Sleep(time.Second) // until it was silent for so long
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			var all sync.WaitGroup
			for i := range c.writes {
				all.Go(func() {
					w := cache.Write{ID: fmt.Sprint(i), Server: "crm", Entities: about(i).Entities}
					if ended(ctx, a, w) == nil {
						t.Error("it got the report of a write")
					}
				})
			}
			all.Wait()
			last.mu.Lock()
			last.late = c.late
			last.mu.Unlock()
			first.cut(false)
			began := time.Now()
			time.AfterFunc(100*time.Millisecond, func() { last.cut(false) })
			for i := 0; i < some; { // until each may be requested
				f, err := b.Look(t.Context(), about(i))
				if f.Value != nil {
					t.Fatalf("%v after it is back it answers %q", time.Since(began), f.Value)
				}
				if err == nil && f.Ticket != "" {
					i++
				}
				if time.Since(began) > time.Minute {
					t.Fatal("it trusts no value")
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// While Redis is gone a call costs next to nothing, the log has a line for each
// change, and its return is noticed.
func TestBreaker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ away, back func(*redistest.Server) error }{
		"killed": {func(e *redistest.Server) error { e.Kill(); return nil }, (*redistest.Server).Start},
		"paused": {(*redistest.Server).Pause, (*redistest.Server).Resume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, log := redistest.New(t), new(lines)
			s := open(t, e.URL(), redis.Options{Key: key, Timeout: 2 * time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))})
			remote, limiter := s.Cache(), s.Limiter()
			keep(t, remote, "one", "v")
			if err := c.away(e); err != nil {
				t.Fatal(err)
			}
			time.Sleep(4500 * time.Millisecond) // two heartbeats notice it, if nothing else does
			began := time.Now()
			for range 1000 {
				if _, err := remote.Look(t.Context(), question("one")); err == nil {
					t.Fatal("somebody answers")
				}
				if _, err := limiter.Take(t.Context(), ratelimit.Waiter{ID: "1"}); err == nil {
					t.Fatal("somebody answers")
				}
			}
			if took := time.Since(began); took > time.Minute { // each would wait for two seconds
				t.Errorf("2000 calls took %v", took)
			}
			if err := c.back(e); err != nil {
				t.Fatal(err)
			}
			eventually(t, "its return is not noticed", func() bool {
				f, err := remote.Look(t.Context(), question("two"))
				return err == nil && f.Ticket != ""
			})
			if name == "killed" && find(t, remote, "one") != "" {
				t.Error("the test knows its loss")
			}
			if got := log.count("does not work"); got < 1 || got > 20 { // each call would have one
				t.Errorf("%d lines say that something does not work:\n%s", got, log.text.String())
			}
		})
	}
}

// A call never hangs on Redis past its own deadline.
func TestNothingHangsPastItsDeadline(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	s := open(t, e.URL(), redis.Options{Key: key, Timeout: time.Minute})
	if err := s.Board().Post(t.Context(), approvals.Notice{ID: "Q", Until: time.Now().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if err := e.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Resume() }()
	for name, f := range map[string]func(ctx context.Context) error{
		"look": func(ctx context.Context) error {
			f, err := s.Cache().Look(ctx, question("x"))
			if f.Value == nil && f.Ticket == "" { // it may have noticed already that a write's end was lost
				return errors.Join(err, errMissed)
			}
			return err
		},
		"keep": func(ctx context.Context) error {
			return s.Cache().Keep(ctx, question("x"), "1x", []byte("v"), time.Minute)
		},
		"begin": func(ctx context.Context) error { return s.Cache().Begin(ctx, cache.Write{ID: "w", Server: "crm"}) },
		"end":   func(ctx context.Context) error { return ended(ctx, s.Cache(), cache.Write{ID: "w", Server: "crm"}) },
		"take": func(ctx context.Context) error {
			_, err := s.Limiter().Take(ctx, ratelimit.Waiter{ID: "1"})
			return err
		},
		"add": func(ctx context.Context) error {
			return s.Approvals().Add(ctx, approvals.Approval{ID: "1", State: approvals.Pending})
		},
		"wait":   func(ctx context.Context) error { _, err := s.Board().Wait(ctx, "Q"); return err },
		"answer": func(ctx context.Context) error { return s.Board().Answer(ctx, "Q", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			if err := f(ctx); err == nil {
				t.Error("got no error")
			}
			if took := time.Since(began); took > 30*time.Second { // half of the timeout
				t.Errorf("it took %v", took)
			}
		})
	}
}
