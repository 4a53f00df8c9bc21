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
	goredis "github.com/redis/go-redis/v9"
)

func TestReplicaWithAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	other := redis.Options{Key: bytes.Repeat([]byte("x"), 32), Timeout: patient}
	if _, err := redis.Open(t.Context(), e.URL(), other); err == nil || !strings.Contains(err.Error(), "replicas with another Options.Key") {
		t.Errorf("another key: got %v", err)
	}
	other.Prefix = "other"
	open(t, e.URL(), other)
}

// A value that others wrote into Redis is not found: rubbish, another version, a value from
// another place, one of another host's key.
func TestPoisonIsAMiss(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		poison func(t *testing.T, c *goredis.Client, keys []string)
		plain  bool // whether it can be detected without a key
	}{
		"rubbish": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				c.Set(t.Context(), k, "rubbish", 0)
			}
		}, true},
		"another version": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				c.Set(t.Context(), k, "2"+c.Get(t.Context(), k).Val()[1:], 0)
			}
		}, true},
		"another kind of key": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				c.Del(t.Context(), k)
				c.RPush(t.Context(), k, "x")
			}
		}, true},
		"swapped": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			a, b := c.Get(t.Context(), keys[0]).Val(), c.Get(t.Context(), keys[1]).Val()
			c.Set(t.Context(), keys[0], b, 0)
			c.Set(t.Context(), keys[1], a, 0)
		}, false},
		"one byte": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				v := []byte(c.Get(t.Context(), k).Val())
				v[len(v)-1] ^= 1
				c.Set(t.Context(), k, v, 0)
			}
		}, false},
		"not sealed": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				head, _, _ := strings.Cut(c.Get(t.Context(), k).Val(), "\n")
				c.Set(t.Context(), k, head+"\npevil", 0)
			}
		}, false},
	} {
		for _, sealed := range []bool{true, false} {
			if !sealed && !c.plain {
				continue
			}
			t.Run(fmt.Sprint(name, ", sealed ", sealed), func(t *testing.T) {
				t.Parallel()
				e, o := redistest.New(t), redis.Options{Plain: true, Timeout: patient}
				if sealed {
					o = redis.Options{Key: key, Timeout: patient}
				}
				a, b := open(t, e.URL(), o).Cache(), open(t, e.URL(), o).Cache()
				keep(t, a, "one", "first")
				keep(t, a, "two", "second")
				knows(t, b, "one", "first")
				client := raw(t, e)
				keys, err := client.Keys(t.Context(), "fairlead:c:*").Result()
				if err != nil || len(keys) != 2 {
					t.Fatal(keys, err)
				}
				c.poison(t, client, keys)
				for _, remote := range []cache.Remote{a, b} { // by the plain read, and by the script
					f, err := remote.Look(t.Context(), question("one"))
					if f.Value != nil || err != nil && name != "another kind of key" {
						t.Errorf("got %q, %v", f.Value, err)
					}
				}
			})
		}
	}
}

// With another key nothing is found, and Redis has none of the contents or names in clear.
func TestSealed(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	ours := open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	theirs := stranger(t, e)
	keep(t, ours.Cache(), "one", "secret answer")
	if got := find(t, theirs.Cache(), "one"); got != "" {
		t.Errorf("another host reads %q", got)
	}
	n := approvals.Notice{ID: "Q", Until: time.Now().Add(time.Minute), Question: []byte("secret question")}
	if err := ours.Board().Post(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if got, err := theirs.Board().Open(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("another host is shown %v, %v", got, err)
	}
	client := raw(t, e)
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		dump := client.Dump(t.Context(), k).Val()
		if strings.Contains(dump, "secret") || strings.Contains(k, "crm") || client.TTL(t.Context(), k).Val() == -1 && !strings.HasPrefix(k, "fairlead:l:") {
			t.Errorf("%s lives %v and holds %q", k, client.TTL(t.Context(), k).Val(), dump)
		}
	}
}

// An answer that was forged in Redis denies.
func TestForgedAnswerIsADenial(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	s := open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	if err := s.Board().Post(t.Context(), approvals.Notice{ID: "Q", Until: time.Now().Add(time.Minute), Question: []byte("may I?")}); err != nil {
		t.Fatal(err)
	}
	client := raw(t, e)
	keys, _ := client.Keys(t.Context(), "fairlead:q:*").Result()
	client.HSet(t.Context(), keys[0], "a", `p{"v":1,"decision":{"Verdict":1}}`)
	if got, err := s.Board().Wait(t.Context(), "Q"); err == nil {
		t.Errorf("got %q", got)
	}
}
