package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
)

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
			about := func(i int) cache.Question {
				q := question(fmt.Sprint(i))
				q.Names = []cache.Name{{byte(i), byte(i >> 8)}}
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
					w := cache.Write{ID: fmt.Sprint(i), Server: "crm", Names: about(i).Names}
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
