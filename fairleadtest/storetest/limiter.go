package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// slow is a bucket that gets no token within a case.
func slow(burst int) ratelimit.Bucket {
	return ratelimit.Bucket{Server: "crm", PerSecond: 0.01, Burst: burst}
}

func waiter(id string, buckets ...ratelimit.Bucket) ratelimit.Waiter {
	return ratelimit.Waiter{ID: id, Scope: "ann", Buckets: buckets, Longest: time.Hour, Most: 100}
}

func take(t *testing.T, l ratelimit.Limiter, w ratelimit.Waiter) time.Duration {
	t.Helper()
	wait, err := l.Take(t.Context(), w)
	must(t, err)
	return wait
}

func took(t *testing.T, l ratelimit.Limiter, w ratelimit.Waiter) {
	t.Helper()
	if wait := take(t, l, w); wait != 0 {
		t.Errorf("%s has to wait for %v, want none", w.ID, wait)
	}
}

func waits(t *testing.T, l ratelimit.Limiter, w ratelimit.Waiter, least, most time.Duration) {
	t.Helper()
	if wait := take(t, l, w); wait < least || wait > most {
		t.Errorf("%s has to wait for %v, want %v to %v", w.ID, wait, least, most)
	}
}

var limiterCases = []testCase{
	{name: "all replicas together get the burst", run: func(t *testing.T, r replicas) {
		got := race(t, r, 50, func(s Stores, i int) error {
			w := waiter(fmt.Sprint(i), slow(5))
			w.Longest = 0
			wait, err := s.Limiter.Take(t.Context(), w)
			if wait > 0 {
				return approvals.ErrNoEffect
			}
			return err
		})
		if got != 5 {
			t.Errorf("%d passed, want the burst of 5", got)
		}
	}},
	{name: "the rate is kept, and it says when", run: func(t *testing.T, r replicas) {
		undisturbed(t, 500*time.Millisecond, func(try string) string {
			b := ratelimit.Bucket{Server: "crm " + try, PerSecond: 2, Burst: 1}
			took(t, r.a.Limiter, waiter("1", b))
			second := waiter("2", b)
			wait := take(t, r.b.Limiter, second)
			if wait <= 0 || wait > 500*time.Millisecond {
				return fmt.Sprintf("the second waits for %v, want at most 500ms", wait)
			}
			time.Sleep(wait + time.Millisecond)
			took(t, r.b.Limiter, second)
			return ""
		})
	}},
	{name: "who came first goes first", run: func(t *testing.T, r replicas) {
		undisturbed(t, 1300*time.Millisecond, func(try string) (wrong string) {
			b := ratelimit.Bucket{Server: "crm " + try, PerSecond: 2, Burst: 1}
			waits := func(l ratelimit.Limiter, id string, least, most time.Duration) {
				if wait := take(t, l, waiter(id, b)); wrong == "" && (wait < least || wait > most) {
					wrong = fmt.Sprintf("%s has to wait for %v, want %v to %v", id, wait, least, most)
				}
			}
			took(t, r.a.Limiter, waiter("0", b))
			waits(r.a.Limiter, "first", 1, 500*time.Millisecond)
			waits(r.b.Limiter, "second", 500*time.Millisecond, time.Second)
			time.Sleep(600 * time.Millisecond)
			waits(r.a.Limiter, "third", 1, 1500*time.Millisecond) // a token is there, and not for this one
			waits(r.b.Limiter, "second", 1, time.Second)
			waits(r.a.Limiter, "first", 0, 0)
			time.Sleep(600 * time.Millisecond)
			waits(r.a.Limiter, "third", 1, time.Second)
			waits(r.b.Limiter, "second", 0, 0)
			return wrong
		})
	}},
	{name: "who leaves has cost nothing", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		for i := range 10 {
			w := waiter(fmt.Sprint("gone ", i), slow(1))
			waits(t, r.a.Limiter, w, 1, 110*time.Second)
			r.a.Limiter.Leave(t.Context(), w)
		}
		waits(t, r.b.Limiter, waiter("next", slow(1)), 90*time.Second, 100*time.Second)
	}},
	{name: "who leaves when its time is over has cost nothing", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		w := waiter("gone", slow(1))
		waits(t, r.a.Limiter, w, 1, 110*time.Second)
		r.a.Limiter.Leave(done(), w)
		next := waiter("next", slow(1))
		eventually(t, patience, "the next is the first", func() bool { return take(t, r.b.Limiter, next) <= 100*time.Second })
	}},
	{name: "who asks no more is forgotten", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		waits(t, r.a.Limiter, waiter("silent", slow(1)), 1, 110*time.Second)
		next := waiter("next", slow(1))
		waits(t, r.b.Limiter, next, 110*time.Second, 200*time.Second)
		eventually(t, patience, "the next is the first", func() bool { return take(t, r.b.Limiter, next) <= 100*time.Second })
	}},
	{name: "a call that would wait too long does not join the queue", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		hasty := waiter("hasty", slow(1))
		hasty.Longest = time.Second
		for range 3 {
			if wait := take(t, r.a.Limiter, hasty); wait <= hasty.Longest {
				t.Fatalf("got %v, which is not longer than %v", wait, hasty.Longest)
			}
		}
		waits(t, r.b.Limiter, waiter("next", slow(1)), 90*time.Second, 100*time.Second)
	}},
	{name: "a line that is full takes no one more", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		for i := range 3 {
			w := waiter(fmt.Sprint("waits ", i), slow(1))
			w.Most = 2
			if wait := take(t, r.a.Limiter, w); (wait > w.Longest) != (i == 2) {
				t.Errorf("number %d of at most 2: got %v", i+1, wait)
			}
		}
	}},
	{name: "both tokens or none", run: func(t *testing.T, r replicas) {
		tool := ratelimit.Bucket{Server: "crm", Tool: "search", PerSecond: 0.01, Burst: 2}
		server := slow(3)
		for i := range 2 {
			took(t, r.a.Limiter, waiter(fmt.Sprint("both ", i), tool, server))
		}
		w := waiter("no tool's", tool, server)
		waits(t, r.b.Limiter, w, 90*time.Second, 100*time.Second)
		took(t, r.b.Limiter, waiter("server's alone", server)) // the last, which the one before did not take
		waits(t, r.a.Limiter, waiter("none", server), 90*time.Second, 100*time.Second)
	}},
	{name: "a slow tool does not hold up its server", run: func(t *testing.T, r replicas) {
		tool := ratelimit.Bucket{Server: "crm", Tool: "search", PerSecond: 0.01, Burst: 1}
		took(t, r.a.Limiter, waiter("0", tool, slow(5)))
		waits(t, r.a.Limiter, waiter("slow", tool, slow(5)), 90*time.Second, 100*time.Second)
		took(t, r.b.Limiter, waiter("other", slow(5)))
	}},
	{name: "each scope has a bucket of its own", run: func(t *testing.T, r replicas) {
		for i, scope := range []string{"", "ann", "bob", "{}", "a\x00b", strings.Repeat("s", 50_000)} {
			w := waiter(fmt.Sprint(i), slow(1))
			w.Scope = scope
			took(t, r.a.Limiter, w)
			w.ID += " again"
			waits(t, r.b.Limiter, w, 90*time.Second, 100*time.Second)
		}
	}},
	{name: "a context that is done gets no token", run: func(t *testing.T, r replicas) {
		if _, err := r.a.Limiter.Take(done(), waiter("gone", slow(1))); err == nil {
			t.Error("got no error")
		}
		took(t, r.b.Limiter, waiter("next", slow(1)))
	}},
}
