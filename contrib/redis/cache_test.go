package redis_test

import (
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
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

// Values from before a restart of Redis are not used, even if no replica has noticed the restart:
// a write may have come since the snapshot.
func TestSnapshotIsNotTrusted(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	o := redis.Options{Key: key, Timeout: patient}
	a, b := open(t, e.URL(), o).Cache(), open(t, e.URL(), o).Cache()
	keep(t, a, "one", "old")
	for range 2 { // by the script, and by the plain read
		knows(t, b, "one", "old")
	}
	if err := raw(t, e).Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	w := cache.Write{ID: "w", Server: "crm"}
	if err := a.Begin(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if err := ended(t.Context(), a, w); err != nil {
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

// A write that ended while Redis was paused returns only when every replica has noticed that it
// was cut off, and none of them uses afterwards what was known before.
func TestWriteDuringAPause(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	a, b := open(t, e.URL(), redis.Options{Key: key}).Cache(), open(t, e.URL(), redis.Options{Key: key}).Cache()
	keep(t, a, "one", "old")
	for range 2 { // by the script, and by the plain read
		knows(t, b, "one", "old")
	}
	began := time.Now() // Redis answers for the last time after it
	knows(t, a, "one", "old")
	if err := e.Pause(); err != nil {
		t.Fatal(err)
	}
	w := cache.Write{ID: "w", Server: "crm"}
	if a.Begin(t.Context(), w) == nil || ended(t.Context(), a, w) == nil {
		t.Error("it was reported")
	}
	if took := time.Since(began); took < time.Second || took > 20*time.Second {
		t.Errorf("the write was over after %v", took)
	}
	if err := e.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := looks(t, b, "one", 2*time.Second); len(got) > 0 {
		t.Errorf("%d times it answers %q", len(got), got[0])
	}
	keep(t, b, "one", "new")
	knows(t, a, "one", "new")
}

// A replica that is cut off alone knows it, and believes nothing. What it writes meanwhile is
// reported when it is back: until then, and for no longer than they keep a value, the others may
// return older values. More is not promised.
func TestWriteOfOneThatIsCutOffAlone(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	w := newWire(t, e.Port)
	a, b := open(t, w.url, redis.Options{Key: key}).Cache(), open(t, e.URL(), redis.Options{Key: key}).Cache()
	keep(t, b, "one", "old")
	keepFor(t, b, "brief", "old", 3*time.Second)
	knows(t, a, "one", "old")
	w.cut(true)
	eventually(t, "it does not know that it is cut off", func() bool { _, err := a.Look(t.Context(), question("one")); return err != nil })
	began := time.Now()
	write := cache.Write{ID: "w", Server: "crm"}
	if a.Begin(t.Context(), write) == nil || ended(t.Context(), a, write) == nil {
		t.Error("the write was reported")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the write was over after %v", took)
	}
	knows(t, b, "one", "old") // the write was not reported to the others yet
	eventually(t, "a value outlives its time", func() bool { return find(t, b, "brief") == "" })
	w.cut(false)
	back := time.Now()
	eventually(t, "the write is never said", func() bool { return find(t, b, "one") == "" })
	if took := time.Since(back); took > 10*time.Second { // the value lives for a minute
		t.Errorf("it is said %v after the replica was back", took)
	}
	if got := looks(t, a, "one", time.Second); len(got) > 0 {
		t.Errorf("the replica that was cut off uses %q", got[0])
	}
}

// A cached hit of one question is not used for another, nor for the same one at another server or
// about other entities.
func TestHitsAreNotMixedUp(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.New(t).URL(), redis.Options{Plain: true, Timeout: patient})
	c := s.Cache()
	value := func(q cache.Read) string {
		f, err := c.Look(t.Context(), q)
		must(t, err)
		return string(f.Value)
	}
	one, other, elsewhere, about := question("one"), question("one"), question("one"), question("one")
	other.ID[31]++ // these begin alike
	elsewhere.Server = "mail"
	about.Entities = []cache.EntityKey{{1}}
	keep(t, c, "one", "v")
	for range 2 { // by the script at first, and by the plain read
		eventually(t, "it is not found", func() bool { return value(one) == "v" })
		for _, q := range []cache.Read{other, elsewhere, about} {
			if got := value(q); got != "" {
				t.Errorf("another question is answered %q", got)
			}
		}
	}
}
