package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/verify/world"
)

// Every law sees what breaks it, and nothing else.
func TestLawsSeeBreaches(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	read := func(version int64, began int) world.Event {
		return world.Event{Call: "r", Item: "a", Version: version, Began: at(began), Ended: at(began + 1)}
	}
	write := world.Event{Call: "w", Kind: world.Add, Item: "a", Version: 7, Began: at(0), Ended: at(1)}
	of := func(kind world.Kind, calls ...string) (ledger []world.Execution) {
		for _, call := range calls {
			ledger = append(ledger, world.Execution{Call: call, Kind: kind, Things: []string{"a"}})
		}
		return ledger
	}
	wiped := world.Event{Call: "d", Kind: world.Delete, Item: "a"}
	for name, c := range map[string]struct {
		events []world.Event
		ledger []world.Execution
		want   string
	}{
		"a fresh read":               {events: []world.Event{write, read(7, 2)}},
		"a read beside the write":    {events: []world.Event{write, read(6, 1)}},
		"a stale read":               {events: []world.Event{write, read(6, 2)}, want: "I4"},
		"a stale list":               {events: []world.Event{write, {Began: at(2), Version: 6}}, want: "I4"},
		"a read of another item":     {events: []world.Event{write, {Item: "b", Began: at(2)}}},
		"one write":                  {ledger: of(world.Add, "w")},
		"a write twice":              {ledger: of(world.Add, "w", "w"), want: "I2"},
		"a read twice":               {ledger: of(world.Read, "r", "r")},
		"a denied write":             {ledger: of(world.Delete, "d"+world.Deny), want: "I1"},
		"executed and not sent":      {events: []world.Event{{Call: "w", Err: "x", NotSent: true}}, ledger: of(world.Add, "w"), want: "I2"},
		"executed and denied":        {events: []world.Event{{Call: "w", Err: "x", Denied: true}}, ledger: of(world.Add, "w"), want: "I2"},
		"a deletion":                 {events: []world.Event{wiped}, ledger: of(world.Delete, "d")},
		"a deletion that was cached": {events: []world.Event{wiped}, want: "I6"},
	} {
		got := strings.Join(append(world.Reads(c.events), world.Writes(c.events, c.ledger)...), "\n")
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestAgainAndPeak(t *testing.T) {
	t.Parallel()
	var ledger []world.Execution
	for i, item := range []string{"cold 1", "cold 1", "cold 1", "cold 2", "warm", "warm"} {
		ledger = append(ledger, world.Execution{Things: []string{item}, Began: time.Unix(int64(10-i), 0)})
	}
	if n := world.Again(ledger, "cold "); n != 1 {
		t.Errorf("%d items were fetched again, want 1", n)
	}
	// Six calls in five seconds, where one is due each two: five seconds give two and a half.
	if peak := world.Peak(ledger, 30); peak != 3.5 {
		t.Errorf("got a peak of %v, want 3.5", peak)
	}
}

// A version grows with each write to what it is of.
func TestVersions(t *testing.T) {
	t.Parallel()
	ledger := new(world.Ledger)
	s := world.Server{Ledger: ledger}
	worked := 0
	work := func() { worked++ }
	s.Execute("1", world.Add, work, "a")
	s.Execute("2", world.Add, work, "b", "c")
	if got := []int64{s.Version("a"), s.Version("b"), s.Version("a", "c"), s.Version("d"), s.Version(), s.Execute("3", world.Read, work, "a")}; got[0] != 1 || got[1] != 2 || got[2] != 2 || got[3] != 0 || got[4] != 2 || got[5] != 1 {
		t.Error(got)
	}
	if worked != 6 || len(ledger.All()) != 3 || ledger.Times("2") != 1 {
		t.Errorf("worked %d times; %+v", worked, ledger.All())
	}
	if v, err := world.VersionOf(world.Result(12)); v != 12 || err != nil {
		t.Error(v, err)
	}
}
