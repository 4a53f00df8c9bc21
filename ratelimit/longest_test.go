package ratelimit_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/ratelimit"
)

// A call that would wait for ever is not let through if its bucket does not fit.
func TestLongestWaitDoesNotOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := ratelimit.NewMemory()
		take := func(scope string) (wait time.Duration) {
			wait, err := m.Take(t.Context(), ratelimit.Waiter{
				ID: scope, Scope: scope, Most: 10, Longest: math.MaxInt64,
				Buckets: []ratelimit.Bucket{{Server: "s", PerSecond: 1e-3, Burst: 1}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return wait
		}
		for i := range 100_000 {
			if wait := take(fmt.Sprint(i)); wait != 0 {
				t.Fatal(wait)
			}
		}
		if wait := take("one more"); wait <= 0 {
			t.Errorf("got a wait of %v, which lets it through", wait)
		}
	})
}
