package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
	goredis "github.com/redis/go-redis/v9"
)

// A bench is a store and the server that it is on.
type bench struct {
	bare  *goredis.Client
	store *redis.Store
	n     int
}

func measure(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "fairlead-scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	e, err := redistest.Run(ctx, dir)
	if err != nil {
		return err
	}
	defer e.Kill()
	o, err := goredis.ParseURL(e.URL())
	if err != nil {
		return err
	}
	b := &bench{bare: goredis.NewClient(o)}
	defer b.bare.Close()
	if b.store, err = redis.Open(ctx, e.URL(), redis.Options{Key: []byte(strings.Repeat("k", 32))}); err != nil {
		return err
	}
	defer b.store.Close()
	for _, part := range []func(context.Context) error{b.bytes, b.operations} {
		if err := part(ctx); err != nil {
			return err
		}
		fmt.Println()
	}
	plan()
	return nil
}

func (b *bench) question(names ...string) cache.Question {
	b.n++
	q := cache.Question{Server: "crm", ID: sha256.Sum256([]byte(strconv.Itoa(b.n)))}
	for _, name := range names {
		sum := sha256.Sum256([]byte(name))
		q.Names = append(q.Names, cache.Name(sum[:16]))
	}
	return q
}

// fill keeps a value under a new question.
func (b *bench) fill(ctx context.Context, size int, names ...string) (cache.Question, error) {
	q := b.question(names...)
	f, err := b.store.Cache().Look(ctx, q)
	if err != nil {
		return q, err
	}
	return q, b.store.Cache().Keep(ctx, q, f.Ticket, []byte(strings.Repeat("x", size)), time.Hour)
}

// bytes prints what Redis holds for each thing, as MEMORY USAGE says.
func (b *bench) bytes(ctx context.Context) error {
	fmt.Println("bytes in Redis")
	for _, size := range []int{200, 1000, 4000, 16_000} {
		b.bare.FlushAll(ctx)
		if _, err := b.fill(ctx, size, "one"); err != nil {
			return err
		}
		if err := b.usage(ctx, fmt.Sprintf("a result of %d bytes", size), "fairlead:c:*"); err != nil {
			return err
		}
	}
	if err := b.usage(ctx, "an entity, or a server, that was read", "fairlead:t:*"); err != nil {
		return err
	}
	w := ratelimit.Waiter{ID: "1", Scope: "ann", Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 1, Burst: 10}}, Longest: time.Hour, Most: 10}
	if _, err := b.store.Limiter().Take(ctx, w); err != nil {
		return err
	}
	if err := b.usage(ctx, "a bucket that is not full", "fairlead:r:*"); err != nil {
		return err
	}
	id, until := "ABCDEFGHIJKLMNOPQRSTUVWXYZ", time.Now().Add(time.Minute)
	if err := errors.Join(b.store.Approvals().Add(ctx, approvals.Approval{ID: id, State: approvals.Pending, Until: until}),
		b.store.Board().Post(ctx, approvals.Notice{ID: id, Until: until, Question: []byte(strings.Repeat("x", 2000))})); err != nil {
		return err
	}
	return errors.Join(b.usage(ctx, "an approval", "fairlead:a:*"), b.usage(ctx, "a question of 2000 bytes on the board", "fairlead:q:*"))
}

func (b *bench) usage(ctx context.Context, what, pattern string) error {
	keys, err := b.bare.Keys(ctx, pattern).Result()
	if err != nil || len(keys) == 0 {
		return errors.Join(err, fmt.Errorf("no key is like %s", pattern))
	}
	most := int64(0)
	for _, k := range keys {
		most = max(most, b.bare.MemoryUsage(ctx, k).Val())
	}
	fmt.Printf("  %-40s %6d\n", what, most)
	return nil
}

// operations prints how often Redis is asked for each thing, and how long it works.
func (b *bench) operations(ctx context.Context) error {
	fmt.Println("round trips, and microseconds of Redis' own time for each")
	c, l := b.store.Cache(), b.store.Limiter()
	hot, err := b.fill(ctx, 1000, "one")
	if err != nil {
		return err
	}
	for _, part := range []struct {
		what  string
		trips int
		do    func(i int) error
	}{
		{"a hit", 1, func(int) error { _, err := c.Look(ctx, hot); return err }},
		{"a miss with its fill", 2, func(int) error { _, err := b.fill(ctx, 1000, "one"); return err }},
		{"a write", 2, func(i int) error {
			w := cache.Write{ID: strconv.Itoa(i), Server: "crm", Names: b.question("two").Names}
			return errors.Join(c.Begin(ctx, w), c.End(ctx, w))
		}},
		{"a decision of the limiter", 1, func(i int) error {
			_, err := l.Take(ctx, ratelimit.Waiter{ID: strconv.Itoa(i), Scope: "ann", Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 1e6, Burst: 1e6}}})
			return err
		}},
		{"a dangerous call's record", 4, func(i int) error {
			id, until := "op "+strconv.Itoa(i), time.Now().Add(time.Minute)
			a := b.store.Approvals()
			return errors.Join(a.Add(ctx, approvals.Approval{ID: id, State: approvals.Pending, Until: until}),
				a.Advance(ctx, id, approvals.Change{To: approvals.Approved, Until: until}),
				a.Advance(ctx, id, approvals.Change{To: approvals.Spent}), a.Advance(ctx, id, approvals.Change{To: approvals.Done}))
		}},
	} {
		const rounds = 2000
		if err := part.do(-1); err != nil { // its scripts are loaded
			return err
		}
		before, err := b.busy(ctx)
		if err != nil {
			return err
		}
		for i := range rounds {
			if err := part.do(i); err != nil {
				return err
			}
		}
		after, err := b.busy(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("  %-40s %6d %6.0f\n", part.what, part.trips, (after-before)*1e6/rounds)
	}
	return nil
}

// busy returns the seconds that Redis' main thread has worked.
func (b *bench) busy(ctx context.Context) (float64, error) {
	info, err := b.bare.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	var sum float64
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user_main_thread" || name == "used_cpu_sys_main_thread" {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}
