package main

import (
	"context"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
)

// contests are the rows that are the same on every machine but for their times. What is waited for is at least
// so many times the work of naive and of failsafe, unless 0, and at most so many allocations.
var contests = []struct {
	name            string
	naive, failsafe float64
	allocs          float64
	limit           time.Duration // of each attempt, of the peers
	ours            build
	work            work
	alone           bool // no peer does the same
}{
	{name: "call/plain", naive: 2.5, failsafe: 6, allocs: 1, ours: ours(cache.Options{}), work: calling(writes)},
	{name: "call/deadline", naive: 1.5, failsafe: 4, allocs: 5, limit: time.Minute, ours: oursInTime, work: calling(writes)},
	// Two records, each handed over by a goroutine that a blocked sink keeps.
	{name: "call/audited", allocs: 7, ours: oursAudited, work: calling(writes), alone: true},
	{name: "call/granted", allocs: 4, ours: oursAgreed, work: calling(wipes), alone: true},
	{name: "hit/200B/repeat", naive: 20, allocs: 2, ours: ours(cache.Options{ImmutableResults: true}), work: asking(200, false)},
	{name: "hit/200B/fresh", naive: 9, allocs: 4, ours: ours(cache.Options{}), work: asking(200, true)},
	{name: "hit/4KB/repeat", naive: 20, allocs: 2, ours: ours(cache.Options{ImmutableResults: true}), work: asking(4<<10, false)},
	{name: "hit/4KB/fresh", naive: 9, allocs: 4, ours: ours(cache.Options{}), work: asking(4<<10, true)},
	{name: "hit/256KB/repeat", naive: 20, allocs: 2, ours: ours(cache.Options{ImmutableResults: true}), work: asking(256<<10, false)},
	{name: "hit/256KB/fresh", naive: 9, allocs: 4, ours: ours(cache.Options{}), work: asking(256<<10, true)},
	{name: "miss/plain", naive: 6, allocs: 5, ours: ours(cache.Options{}), work: missing(context.Background())},
	// A call with a context that ends runs on a goroutine of its own.
	{name: "miss/deadline", naive: 4, allocs: 13, ours: ours(cache.Options{}), work: missing(ending)},
}

func contestOf(name string) contest {
	for _, c := range contests {
		if c.name != name {
			continue
		}
		made := contest{
			name: name, ways: []subject{{name: "ours", run: c.work(c.ours)}},
			goals: map[string]float64{"naive": c.naive, "failsafe": c.failsafe}, allocs: c.allocs,
		}
		if !c.alone {
			made.ways = append(made.ways,
				subject{name: "naive", run: c.work(func(s *server) middleware.ToolCaller { return newNaive(s, c.limit) })},
				subject{name: "failsafe", run: c.work(func(s *server) middleware.ToolCaller { return newResilient(s, c.limit) })})
		}
		return made
	}
	panic("bench: no row " + name)
}
