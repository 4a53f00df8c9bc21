package redis_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/storetest"
)

var key = bytes.Repeat([]byte("k"), 32)

// open connects to a Redis as one replica does, and tries again where an answer was late.
func open(t testing.TB, url string, o redis.Options) (s *redis.Store) {
	t.Helper()
	eventually(t, "it cannot be opened", func() bool {
		var err error
		if s, err = redis.Open(t.Context(), url, o); err != nil {
			t.Log(err)
		}
		return err == nil
	})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// patient is for machines with much else to do.
const patient = 5 * time.Second

func stores(s *redis.Store) storetest.Stores {
	return storetest.Stores{Cache: s.Cache(), Limiter: s.Limiter(), Approvals: s.Approvals(), Board: s.Board()}
}

// Redis keeps the promises that the embedded stores keep, with a key and without.
func TestStores(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options redis.Options
	}{
		{"sealed", redis.Options{Key: key}},
		{"plain", redis.Options{Plain: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := redistest.New(t)
			var n atomic.Int64
			storetest.Run(t, func(t *testing.T) (a, b storetest.Stores) {
				t.Helper()
				o := c.options
				o.Prefix, o.Timeout = fmt.Sprint("test-", n.Add(1)), patient
				return stores(open(t, e.URL(), o)), stores(open(t, e.URL(), o))
			})
		})
	}
}
