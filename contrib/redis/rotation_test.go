package redis_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// rotation are the options of a replica, one after the other.
func rotation() []redis.Options {
	next := bytes.Repeat([]byte("n"), 32)
	return []redis.Options{
		{Key: key},
		{Key: key, OtherKeys: [][]byte{next}, NameKey: key},
		{Key: next, OtherKeys: [][]byte{key}, NameKey: key},
		{Key: next, NameKey: key},
	}
}

// While replicas get a new key one after the other, each reads what the others keep, and hears of their writes.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	steps := rotation()
	replica := func(step int) *redis.Store {
		o := steps[step]
		o.Timeout = patient
		return open(t, e.URL(), o)
	}
	old := replica(0)
	yes := approvals.Standing{
		ID: "1", Scope: "ann", Server: "crm", Tool: "delete", Definition: "d", Class: "dangerous", Arguments: approvals.AnyArguments,
		By: "ann", Since: time.Now(), Until: time.Now().Add(time.Hour),
	}
	must(t, old.Approvals().Remember(t.Context(), yes))
	for step := 1; step < len(steps); step++ {
		fresh := replica(step)
		for i, pair := range [][2]*redis.Store{{old, fresh}, {fresh, old}} {
			one, other, what := pair[0].Cache(), pair[1].Cache(), fmt.Sprint("step", step, i)
			keep(t, one, what, "before")
			if got := find(t, other, what); got != "before" {
				t.Errorf("%s: the other replica finds %q", what, got)
			}
			w := cache.Write{ID: what, Server: "crm", Until: time.Now().Add(time.Minute)}
			must(t, one.Begin(t.Context(), w))
			must(t, ended(t.Context(), one, w))
			if got := find(t, other, what); got != "" {
				t.Errorf("%s: the other replica finds %q after a write", what, got)
			}
		}
		all, err := fresh.Approvals().Remembered(t.Context(), "ann", "crm", "delete")
		if err != nil || len(all) != 1 || all[0].ID != map[bool]string{true: "2", false: "1"}[step == 3] {
			t.Errorf("step %d: %v are remembered, %v", step, all, err) // what was with the new key outlives the old one
		}
		if step == 2 {
			yes.ID = "2"
			must(t, fresh.Approvals().Remember(t.Context(), yes))
		}
		old = fresh
	}
}

// Three replicas are replaced one by one, each three times, until all have the new key, while they read and write. None
// answers what is older than a write that had ended, and all keep finding what the others have kept.
func TestKeyRotationUnderLoad(t *testing.T) { // alone, since a replica that gets no time notices that it is cut off
	e := redistest.New(t)
	steps := rotation()
	replica := func(step int) *redis.Store {
		o := steps[step]
		o.Timeout = patient
		return open(t, e.URL(), o)
	}
	var replicas [3]atomic.Pointer[redis.Store]
	for i := range replicas {
		replicas[i].Store(replica(0))
	}
	var now, over, found atomic.Int64 // a version, the last whose write has ended, and the reads from the cache
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for n := int64(1); ctx.Err() == nil; n++ {
			c := replicas[n%3].Load().Cache()
			w := cache.Write{ID: fmt.Sprint(n), Server: "crm", Until: time.Now().Add(time.Minute)}
			begun := c.Begin(ctx, w)
			now.Store(n)
			if err := ended(ctx, c, w); ctx.Err() == nil && (begun != nil || err != nil) {
				t.Errorf("write %d: %v, %v", n, begun, err)
			}
			over.Store(n)
			wait(ctx, 5*time.Millisecond)
		}
	})
	for reader := range 4 {
		all.Go(func() {
			q := cache.Read{Server: "crm", ID: sha256.Sum256([]byte("who"))}
			for i := reader; ctx.Err() == nil; i++ {
				c, least := replicas[i%3].Load().Cache(), over.Load()
				f, err := c.Look(ctx, q)
				switch {
				case f.Value != nil:
					found.Add(1)
					if got, _ := strconv.ParseInt(string(f.Value), 10, 64); got < least {
						t.Errorf("got version %d, and the write of %d was over", got, least)
					}
				case err == nil && f.Ticket != "" && !f.Busy:
					_ = c.Keep(ctx, q, f.Ticket, fmt.Append(nil, now.Load()), time.Minute)
				}
			}
		})
	}
	for step := 1; step < len(steps); step++ {
		for i := range replicas {
			replicas[i].Store(replica(step))
			before := found.Load()
			eventually(t, "nothing is found", func() bool { return found.Load() > before+3000 })
		}
	}
	stop()
	all.Wait()
	t.Logf("%d writes, %d reads from the cache", over.Load(), found.Load())
}

func TestOtherKeysNeedAKey(t *testing.T) {
	t.Parallel()
	for _, o := range []redis.Options{{OtherKeys: [][]byte{key}}, {NameKey: key}, {Key: key, OtherKeys: [][]byte{nil}}, {Key: key, NameKey: []byte("short")}} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "redis: Options.") {
					t.Errorf("got panic %q", got)
				}
			}()
			_, _ = redis.Open(t.Context(), "redis://127.0.0.1:1", o)
		}()
	}
}
