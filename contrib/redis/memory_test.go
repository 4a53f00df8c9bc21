package redis_test

import (
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/internal/enginetest"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// looks returns what is found again and again for a while.
func looks(t *testing.T, c cache.Remote, text string, d time.Duration) (found []string) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		f, err := c.Look(t.Context(), question(text))
		if err == nil && f.Value != nil {
			found = append(found, string(f.Value))
		} else if err == nil && !f.Busy {
			c.Drop(t.Context(), question(text), f.Ticket)
		}
	}
	return found
}

// What Redis knew before it started again is not believed, also where nobody has
// noticed: a write may have come since the snapshot.
func TestSnapshotIsNotBelieved(t *testing.T) {
	t.Parallel()
	e := enginetest.Of(t)
	o := redis.Options{Key: key, Timeout: patient}
	a, b := open(t, e.URL(), o).Cache(), open(t, e.URL(), o).Cache()
	keep(t, a, "one", "old")
	for range 2 { // by the script, and by the plain read
		if find(t, b, "one") != "old" {
			t.Fatal("it is not known")
		}
	}
	if err := raw(t, e).Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	w := cache.Write{ID: "w", Server: "crm"}
	if err := a.Begin(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if err := a.End(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	e.Kill()
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	if raw(t, e).DBSize(t.Context()).Val() == 0 {
		t.Fatal("nothing was put back")
	}
	if got := looks(t, b, "one", 2*time.Second); len(got) > 0 {
		t.Errorf("%d times it answers %q", len(got), got[0])
	}
}

// A write whose end nobody could be told of while Redis was paused is over only when
// every replica knows that it was cut off, and none of them believes afterwards
// what was known before.
func TestWriteDuringAPause(t *testing.T) {
	t.Parallel()
	e := enginetest.Of(t)
	a, b := open(t, e.URL(), redis.Options{Key: key}).Cache(), open(t, e.URL(), redis.Options{Key: key}).Cache()
	keep(t, a, "one", "old")
	for range 2 { // by the script, and by the plain read
		if find(t, b, "one") != "old" {
			t.Fatal("it is not known")
		}
	}
	if err := e.Pause(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w := cache.Write{ID: "w", Server: "crm"}
	if a.Begin(t.Context(), w) == nil || a.End(t.Context(), w) == nil {
		t.Error("it was told of")
	}
	if took := time.Since(began); took < time.Second || took > 3*time.Second {
		t.Errorf("the write was over after %v", took)
	}
	if err := e.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := looks(t, b, "one", 2*time.Second); len(got) > 0 {
		t.Errorf("%d times it answers %q", len(got), got[0])
	}
	keep(t, b, "one", "new")
	if got := find(t, a, "one"); got != "new" {
		t.Errorf("afterwards it knows %q", got)
	}
}

// While Redis was silent the replicas kept the quota by themselves; its bucket does
// not count that as a pause in which nobody called.
func TestBucketIsEmptyAfterASilence(t *testing.T) {
	t.Parallel()
	e := enginetest.Of(t)
	l := open(t, e.URL(), redis.Options{}).Limiter()
	passes := func(id string) (bool, error) {
		wait, err := l.Take(t.Context(), ratelimit.Waiter{ID: id, Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 0.01, Burst: 5}}, Most: 10})
		return wait == 0 && err == nil, err
	}
	if ok, err := passes("first"); !ok {
		t.Fatal(err)
	}
	if err := e.Pause(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := e.Resume(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		ok, err := passes("again")
		if ok {
			t.Fatal("it has tokens")
		}
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
