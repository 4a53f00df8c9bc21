package redis_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// While replicas get a new key one after the other, each reads what the others keep, and hears of their writes.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	next := bytes.Repeat([]byte("n"), 32)
	steps := []redis.Options{
		{Key: key},
		{Key: key, OtherKeys: [][]byte{next}, NameKey: key},
		{Key: next, OtherKeys: [][]byte{key}, NameKey: key},
		{Key: next, NameKey: key},
	}
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
		if all, err := fresh.Approvals().Remembered(t.Context(), "ann", "crm", "delete"); err != nil || len(all) != 1 && step < 3 {
			t.Errorf("step %d: %d approvals are remembered, %v", step, len(all), err)
		}
		old = fresh
	}
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
