package main

import (
	"fmt"
	"math/rand/v2"
)

// The plan's host: what a hundred replicas and a million sessions do in a minute.
const (
	sessions  = 1_000_000
	active    = 0.05 // of the sessions, at one time
	perMinute = 3.0  // calls of an active session
	minutes   = 10
	ttl       = 5 * 60 * 1000 // milliseconds
	servers   = 200
	records   = 50_000 // entities of each server
	shared    = 0.30   // of the reads, of what all sessions see alike; the rest is one of 16 things of a session's own
	writes    = 0.08   // of the calls
	dangerous = 0.01
	lists     = 0.10 // of the reads
)

// plan plays ten minutes of that host, call by call, with the store's own rule of
// what is believed, and prints what Redis has to do.
func plan() {
	dice := rand.New(rand.NewPCG(1, 2))
	popular := rand.NewZipf(dice, 1.1, 8, records-1)
	busiest := rand.NewZipf(dice, 1.2, 4, servers-1)
	own := rand.NewZipf(dice, 1.5, 2, 15)
	home := make([]uint64, int(sessions*active)) // each session works with one server
	for i := range home {
		home[i] = busiest.Uint64()
	}
	type entry struct{ asked, since int32 }
	known := make(map[uint64]entry)
	last, touched := make([]int32, servers), make(map[uint64]int32)
	calls := int(sessions * active * perMinute * minutes)
	var hits, misses, wrote, danger, most int
	onBusiest := 0
	for i := range calls {
		now := int32(float64(i) / float64(calls) * minutes * 60 * 1000)
		session := dice.Uint64N(sessions * active)
		server := home[session]
		if server == 0 {
			onBusiest++
		}
		record := server<<32 | popular.Uint64()
		if dice.Float64() >= shared { // one of the things that the session itself is about
			record = 1<<63 | session<<8 | own.Uint64()
		}
		switch at := dice.Float64(); {
		case at < dangerous:
			danger++
			fallthrough
		case at < writes:
			wrote++
			touched[record], last[server] = now, now
			continue
		}
		key, changed := record, touched[record]
		if dice.Float64() < lists {
			key, changed = 1<<62|server<<8|dice.Uint64N(20), last[server]
		}
		e, ok := known[key]
		if ok && now-e.asked < ttl && (changed == 0 || changed <= e.since) {
			hits++
			continue
		}
		misses++
		known[key] = entry{now, now}
		if i%100_000 == 0 {
			for k, e := range known {
				if now-e.asked >= ttl {
					delete(known, k)
				}
			}
		}
		most = max(most, len(known))
	}
	perSecond := func(n int) float64 { return float64(n) / minutes / 60 }
	// Round trips: a hit 1; a miss 2 and the limiter's 1; a write 2, and 1; a dangerous call 4 more.
	trips := float64(hits) + 3*float64(misses) + 3*float64(wrote) + 4*float64(danger)
	fmt.Printf("the plan: 100 replicas, %d sessions, %.0f%% of them active, %.0f calls a minute each\n", sessions, active*100, perMinute)
	fmt.Printf("  calls a second                           %8.0f\n", perSecond(calls))
	fmt.Printf("  of the reads answered from memory        %7.0f%%\n", 100*float64(hits)/float64(hits+misses))
	fmt.Printf("  calls a second at the servers            %8.0f\n", perSecond(misses+wrote))
	fmt.Printf("  round trips to Redis a second            %8.0f\n", trips/minutes/60)
	fmt.Printf("  of them for the busiest server           %7.0f%%\n", 100*float64(onBusiest)/float64(calls))
	fmt.Printf("  heartbeats a second                      %8d\n", 100*10)
	fmt.Printf("  results at once                          %8d\n", most)
	fmt.Printf("  their bytes, of 2,000 each and 370 beside%8.1f GiB\n", float64(most)*2370/(1<<30))
}
