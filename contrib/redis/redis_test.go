package redis_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/storetest"
)

// A second Close, such as a deferred one, returns no error.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.New(t).URL(), redis.Options{Plain: true, Timeout: patient})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefusesMeaninglessOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]redis.Options{
		"a short key": {Key: []byte("short")}, "a negative timeout": {Timeout: -1}, "a negative size": {MaxValue: -1}, "braces": {Prefix: "a{b}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "redis: Options.") {
					t.Errorf("got panic %q", got)
				}
			}()
			_, _ = redis.Open(t.Context(), "redis://127.0.0.1:1", o)
		})
	}
}

// Contents are stored only where the host allows it.
func TestContentsNeedTheHostsWord(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.New(t).URL(), redis.Options{})
	for name, f := range map[string]func(){"the cache": func() { s.Cache() }, "the board": func() { s.Board() }, "calls in doubt": func() { s.Doubt() }} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, name) || !strings.Contains(got, "Options.Plain") {
					t.Errorf("got panic %q", got)
				}
			}()
			f()
		}()
	}
	if s.Limiter() == nil || s.Approvals() == nil {
		t.Error("limits and approvals need none")
	}
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
