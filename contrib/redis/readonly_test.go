package redis_test

import (
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
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
