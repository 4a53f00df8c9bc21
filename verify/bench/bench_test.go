package main

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A quick pace is enough to see answers and allocations.
var quick = pace{batch: 200 * time.Microsecond, rounds: 1}

// counts are the allocations of our ways, exactly. One is for the state of the call. Where arguments are new, another one
// carries their sum from the budget to the cache: without it the canonical form is made twice, and a hit of 4 KB takes
// 20 µs instead of 12.
var counts = map[string]float64{
	"call/plain": 1, "call/deadline": 5, "call/audited": 7, "call/granted": 4, "miss/plain": 5, "miss/deadline": 13,
	"hit/200B/repeat": 2, "hit/4KB/repeat": 2, "hit/200B/fresh": 3, "hit/4KB/fresh": 3,
}

// TestAllocs holds what our ways allocate, and that every way gives right answers:
// a hit that was a miss, or a peer that leaves its work out, is an error.
func TestAllocs(t *testing.T) {
	for name, want := range counts {
		r, err := play(contestOf(name), quick)
		if err != nil {
			t.Error(err)
			continue
		}
		if raced {
			continue // the race detector allocates
		}
		if r.Allocs != want {
			t.Errorf("%s: %v allocations, want %v", name, r.Allocs, want)
		}
	}
}

// TestPeersAreFair holds what the peers allocate at most: the libraries as
// their examples show them cost no more.
func TestPeersAreFair(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	for _, c := range []struct {
		contest  contest
		naive    float64
		failsafe float64
	}{
		{contestOf("call/plain"), 7, 27}, {contestOf("call/deadline"), 11, 36}, {contestOf("hit/200B/repeat"), 69, 90}, {contestOf("miss/plain"), 74, 97},
	} {
		r, err := play(c.contest, quick)
		if err != nil {
			t.Fatal(err)
		}
		if r.PeerAllocs["naive"] > c.naive || r.PeerAllocs["failsafe"] > c.failsafe {
			t.Errorf("%s: peers allocate %v", c.contest.name, r.PeerAllocs)
		}
	}
}

// TestRatios gates on ratios that stay far above their bounds however busy the machine is. Each is the median of
// rounds that give every way its turn, and what became slower is slower in each of three runs. Lower ratios than
// these are for the table alone: a busy machine moves them by a third.
func TestRatios(t *testing.T) {
	if raced {
		t.Skip("the race detector changes what things cost")
	}
	p := pace{batch: 20 * time.Millisecond, rounds: 21} // shorter ones meet a collection or miss it
	for _, c := range []struct {
		row, peer string
		least     float64 // a half of what the page of figures has, or less
	}{
		{"call/plain", "failsafe", 1.5},
		{"hit/200B/repeat", "naive", 5.5},
		{"hit/4KB/fresh", "naive", 4},
		{"key/4KB", "naive", 6},
		{"sdk-overhead/call", "sdk", 100},
	} {
		best := 0.0
		for range 3 {
			r, err := rowOf(t, c.row).run(p)
			if err != nil {
				t.Fatal(err)
			}
			if best = max(best, r.Ratio[c.peer]); best >= c.least {
				break
			}
		}
		t.Logf("%s: %v× %s", c.row, best, c.peer)
		if best < c.least {
			t.Errorf("%s: %v× %s, want at least %v×", c.row, best, c.peer, c.least)
		}
	}
}

func rowOf(t *testing.T, name string) benchmark {
	t.Helper()
	for _, b := range benchmarks() {
		if b.name == name {
			return b
		}
	}
	t.Fatalf("the table has no row %s", name)
	return benchmark{}
}

// Rows of every kind run, and say what they compare and take.
func TestRows(t *testing.T) {
	for name, peers := range map[string]int{
		"key/200B": 2, "key/1KB/rows": 2, "infer": 1, "register/10": 0, "stampede/10": 1, "sdk-overhead/call": 1, "sdk-overhead/hit": 1, "cores/hit": 2,
	} {
		r, err := rowOf(t, name).run(quick)
		if err != nil {
			t.Error(err)
			continue
		}
		if r.Name != name || len(r.Ratio) != peers || r.Cost == "" || r.Goal == "" {
			t.Errorf("%s: %+v", name, r)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := entryMemory(20_000)
	if err != nil || r.Ratio["lru"] == 0 {
		t.Errorf("entry-memory: %+v, %v", r, err)
	}
}

// A row whose chain gives a wrong answer fails, and so does a false hit.
func TestWrongAnswersFail(t *testing.T) {
	t.Parallel()
	wrong := func(*server) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(context.Context, middleware.Call) (result, error) { return &other, nil })
	}
	forgetful := func(s *server) middleware.ToolCaller { return s }
	eager := func(s *server) middleware.ToolCaller { return cache.New(cache.Options{ImmutableResults: true})(s) }
	for name, run := range map[string]func(int) error{
		"a call with a wrong answer": calling(writes)(wrong),
		"a hit with a wrong answer":  asking(200, false)(wrong),
		"a hit that was a miss":      asking(200, false)(forgetful),
		"a call that was a hit":      calling(reads)(eager),
	} {
		if run(turns+1) == nil {
			t.Errorf("%s passes", name)
		}
	}
}

var other mcp.CallToolResult

// An entry of the cache takes few bytes besides its result, and keeps nothing running.
func TestEntryMemory(t *testing.T) {
	if raced {
		t.Skip("the race detector changes what things take")
	}
	const most = 220                      // bytes; it takes 186
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left running
		each, err := entryBytes(100_000)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.0f bytes an entry", each)
		if each > most {
			t.Errorf("an entry takes %.0f bytes besides its result, want at most %d", each, most)
		}
	})
}
