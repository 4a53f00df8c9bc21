package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// A bucket that holds rubbish is empty, and one from a time to come gives nothing
// for it.
func TestPoisonedBucketIsEmpty(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]func() string{
		"rubbish":        func() string { return "rubbish" },
		"another kind":   func() string { return "2 5 5" },
		"a clock jumped": func() string { return fmt.Sprintf("1 0 %d", time.Now().Add(time.Hour).UnixMicro()) },
		"too many":       func() string { return fmt.Sprintf("1 1e300 %d", time.Now().UnixMicro()) },
		"no number":      func() string { return fmt.Sprintf("1 nan %d", time.Now().UnixMicro()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.New(t)
			l := open(t, e.URL(), redis.Options{Timeout: patient}).Limiter()
			w := ratelimit.Waiter{ID: "1", Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 1, Burst: 5}}, Longest: time.Hour, Most: 10}
			if _, err := l.Take(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			client := raw(t, e)
			keys, _ := client.Keys(t.Context(), "fairlead:r:*").Result()
			began := time.Now()
			client.Set(t.Context(), keys[0], value(), 0)
			passed := 0
			for i := range 20 {
				w.ID = fmt.Sprint("w", i)
				w.Longest = 0
				wait, err := l.Take(t.Context(), w)
				if err != nil || wait > 10*time.Second {
					t.Errorf("got %v, %v", wait, err)
				}
				if wait == 0 {
					passed++
				}
			}
			if most := 5 + int(time.Since(began).Seconds()); passed > most { // one for each second
				t.Errorf("%d passed, more than the burst of 5 and its rate", passed)
			}
		})
	}
}

// After an outage a bucket is shut until all replicas have noticed, and then it is empty: they had
// their shares. Nor does a restarted Redis with a full bucket give a token.
func TestBucketIsEmptyAfterAnOutage(t *testing.T) {
	t.Parallel()
	away := func(t *testing.T, l ratelimit.Limiter, e *redistest.Server) {
		t.Helper()
		eventually(t, "it is not noticed", func() bool { return !answered(t, l) })
		time.Sleep(500 * time.Millisecond)
	}
	for name, trouble := range map[string]func(t *testing.T, l ratelimit.Limiter, e *redistest.Server){
		"killed": func(t *testing.T, l ratelimit.Limiter, e *redistest.Server) {
			t.Helper()
			e.Kill()
			away(t, l, e)
			if err := e.Start(); err != nil {
				t.Error(err)
			}
		},
		"paused": func(t *testing.T, l ratelimit.Limiter, e *redistest.Server) {
			t.Helper()
			if err := e.Pause(); err != nil {
				t.Error(err)
			}
			away(t, l, e)
			if err := e.Resume(); err != nil {
				t.Error(err)
			}
		},
		"restarted at once with what it knew": func(t *testing.T, _ ratelimit.Limiter, e *redistest.Server) {
			t.Helper()
			e.Kill()
			if err := e.Start(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const burst = 5
			e := redistest.New(t)
			o := redis.Options{Timeout: 2 * time.Second} // a bucket is shut for somewhat longer
			a, b := open(t, e.URL(), o).Limiter(), open(t, e.URL(), o).Limiter()
			eventually(t, "it does not answer", func() bool { return answered(t, a) })
			raw(t, e).Save(t.Context()) // the bucket is full
			trouble(t, a, e)
			// Calls do not stop for an outage; some come when its end is known and not yet said.
			shut, end := 0, time.Now().Add(6*time.Second)
			for i := 0; time.Now().Before(end); i++ {
				for _, l := range []ratelimit.Limiter{a, b} {
					w := ratelimit.Waiter{ID: fmt.Sprint(i), Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 0.01, Burst: burst}}, Most: 10}
					switch wait, err := l.Take(t.Context(), w); {
					case err != nil && strings.Contains(err.Error(), "just come back"):
						shut++
					case err == nil && wait == 0:
						t.Fatalf("call %d passes", i)
					}
				}
			}
			if shut == 0 {
				t.Error("it is never shut")
			}
			eventually(t, "it is not open again", func() bool { return answered(t, a) && answered(t, b) })
		})
	}
}

// answered reports whether the limiter answers, by a bucket that nothing else uses.
func answered(t *testing.T, l ratelimit.Limiter) bool {
	t.Helper()
	_, err := l.Take(t.Context(), ratelimit.Waiter{ID: "probe", Buckets: []ratelimit.Bucket{{Server: "probe", PerSecond: 1e6, Burst: 1e6}}})
	return err == nil
}

// A loss of memory that no replica can notice gives one burst.
func TestLossOfMemoryGivesOneBurst(t *testing.T) {
	t.Parallel()
	const burst = 5
	e := redistest.New(t)
	a, b := open(t, e.URL(), redis.Options{Timeout: patient}).Limiter(), open(t, e.URL(), redis.Options{Timeout: patient}).Limiter()
	for loss := range 3 {
		if got := passes(t, a, "a", burst) + passes(t, b, "b", burst); got != burst {
			t.Errorf("%d passed after %d losses, want %d", got, loss, burst)
		}
		raw(t, e).FlushAll(t.Context())
	}
}

// A clock that was set back costs what is missing, and no more.
func TestClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	l := open(t, e.URL(), redis.Options{Timeout: patient}).Limiter()
	w := ratelimit.Waiter{ID: "1", Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 50, Burst: 5}}, Longest: time.Hour, Most: 10}
	if _, err := l.Take(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	client := raw(t, e)
	keys, _ := client.Keys(t.Context(), "fairlead:r:*").Result()
	client.Set(t.Context(), keys[0], fmt.Sprintf("1 0 %d", time.Now().Add(time.Hour).UnixMicro()), 0)
	eventually(t, "nothing passes any more", func() bool { wait, err := l.Take(t.Context(), w); return err == nil && wait == 0 })
}
