package redis_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
	goredis "github.com/redis/go-redis/v9"
)

// BenchmarkSizing reports what Redis holds for each kind of key, as MEMORY USAGE
// counts it, and how long its main thread works for each operation. docs/reference/replicas.md
// shows the figures.
func BenchmarkSizing(b *testing.B) {
	e := redistest.New(b)
	bare, s := raw(b, e), open(b, e.URL(), redis.Options{Key: key})
	c, ctx, until := s.Cache(), b.Context(), time.Now().Add(time.Hour)
	n := 0
	fill := func(size int) (cache.Read, error) {
		n++
		name := sha256.Sum256([]byte("one"))
		q := question(strconv.Itoa(n))
		q.Entities = []cache.EntityKey{cache.EntityKey(name[:16])}
		f, err := c.Look(ctx, q)
		return q, errors.Join(err, c.Keep(ctx, q, f.Ticket, []byte(strings.Repeat("x", size)), time.Hour))
	}
	take := func(perSecond float64) error {
		_, err := s.Limiter().Take(ctx, ratelimit.Waiter{ID: "1", Scope: "ann", Longest: time.Hour, Most: 10,
			Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: perSecond, Burst: 1e6}}})
		return err
	}
	add := func(id string) error {
		return s.Approvals().Add(ctx, approvals.Approval{ID: id, State: approvals.Pending, Until: until})
	}
	hot, err := fill(1000)
	if err != nil {
		b.Fatal(err)
	}
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"hit", func() error { _, err := c.Look(ctx, hot); return err }},
		{"miss and fill", func() error { _, err := fill(1000); return err }},
		{"write", func() error {
			w := cache.Write{ID: "w", Server: "crm", Entities: hot.Entities}
			return errors.Join(c.Begin(ctx, w), ended(ctx, c, w))
		}},
		{"decision of the limiter", func() error { return take(1e6) }},
		{"record of a dangerous call", func() error {
			n++
			id, a := strconv.Itoa(n), s.Approvals()
			return errors.Join(add(id), a.Advance(ctx, id, approvals.Change{To: approvals.Approved, Until: until}),
				a.Advance(ctx, id, approvals.Change{To: approvals.Spent}), a.Advance(ctx, id, approvals.Change{To: approvals.Done}))
		}},
	} {
		b.Run(op.name, func(b *testing.B) {
			before := busy(b, bare)
			for b.Loop() {
				if err := op.do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((busy(b, bare)-before)*1e6/float64(b.N), "redis-µs/op")
		})
	}
	id := "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, kind := range []struct {
		name, keys string
		make       func() error
	}{
		{"result of 200 bytes", "c", func() error { _, err := fill(200); return err }},
		{"result of 1000 bytes", "c", func() error { _, err := fill(1000); return err }},
		{"result of 4000 bytes", "c", func() error { _, err := fill(4000); return err }},
		{"result of 16000 bytes", "c", func() error { _, err := fill(16_000); return err }},
		{"entity or server that was read", "t", func() error { _, err := fill(1000); return err }},
		{"bucket that is not full", "r", func() error { return take(1) }},
		{"approval", "a", func() error { return add(id) }},
		{"question of 2000 bytes on the board", "q", func() error {
			return s.Board().Post(ctx, approvals.Notice{ID: id, Until: until, Question: []byte(strings.Repeat("x", 2000))})
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			if err := errors.Join(bare.FlushAll(ctx).Err(), kind.make()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(usage(ctx, b, bare, fmt.Sprintf("fairlead:%s:*", kind.keys)), "bytes")
		})
	}
}

// usage returns the bytes of the largest of some keys.
func usage(ctx context.Context, b *testing.B, bare *goredis.Client, pattern string) float64 {
	b.Helper()
	keys, err := bare.Keys(ctx, pattern).Result()
	if err != nil || len(keys) == 0 {
		b.Fatalf("no key is like %s: %v", pattern, err)
	}
	most := int64(0)
	for _, k := range keys {
		most = max(most, bare.MemoryUsage(ctx, k).Val())
	}
	return float64(most)
}

// busy returns the seconds that Redis' main thread has worked.
func busy(b *testing.B, bare *goredis.Client) (sum float64) {
	b.Helper()
	info, err := bare.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user_main_thread" || name == "used_cpu_sys_main_thread" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += seconds
		}
	}
	return sum
}
