package redis_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// A text about a session is found at each replica with the key, under its own name alone.
func TestSessionsAreSealedToTheirNames(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	o := redis.Options{Key: bytes.Repeat([]byte{7}, 32)}
	one, other := open(t, e.URL(), o).Sessions(), open(t, e.URL(), o).Sessions()
	ctx := mcptest.Context(t)
	if text, err := other.Find(ctx, "a", time.Minute); text != nil || err != nil {
		t.Errorf("before it was kept: got %q, %v", text, err)
	}
	for name, text := range map[string]string{"a": "of a client", "b": "of another"} {
		if err := one.Keep(ctx, name, []byte(text), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := other.Find(ctx, "a", time.Hour); string(text) != "of a client" || err != nil {
		t.Errorf("at another replica: got %q, %v", text, err)
	}
	c := raw(t, e)
	keys, err := c.Keys(ctx, "fairlead:n:*").Result()
	if err != nil || len(keys) != 2 {
		t.Fatalf("got the keys %v, %v", keys, err)
	}
	longest := time.Duration(0)
	for i, key := range keys {
		text, err := c.Get(ctx, key).Bytes()
		if err != nil || bytes.Contains(text, []byte("client")) || bytes.Contains(text, []byte("another")) {
			t.Errorf("in Redis: %q, %v", text, err)
		}
		longest = max(longest, c.TTL(ctx, key).Val())
		if err := c.Set(ctx, keys[1-i]+" copy", text, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if longest < 50*time.Minute {
		t.Errorf("what was found is kept for %v, want an hour", longest)
	}
	for _, key := range keys {
		if err := c.Rename(ctx, key+" copy", key).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if text, err := other.Find(ctx, name, time.Minute); text != nil || err != nil {
			t.Errorf("%s with the text of another name: got %q, %v", name, text, err)
		}
	}
}
