// Command workload lets sixteen agents make 8,000 calls of twenty tools on four servers under several
// policies, in virtual time, and prints the results. The same seed gives all policies the same calls,
// latencies and faults.
//
//	go -C verify run ./workload              # the tables of docs/reference/performance.md
//	go -C verify run ./workload -seed 43
package main

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func main() {
	testing.Init() // a bubble of virtual time asks for a test
	seed := flag.Uint64("seed", 42, "from which all chance is drawn")
	flag.Parse()
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "workload", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			fmt.Printf("\nseed %d\n%s", *seed, table(outcomes(*seed, false)))
			fmt.Printf("\nwith quotas of 12, 8, 3 and 3 calls a second\n%s", table(outcomes(*seed, true)))
		})
	}}}, nil, nil)
}

func outcomes(seed uint64, tight bool) []tally {
	tallies := make([]tally, 0, len(policies))
	for _, p := range policies {
		tallies = append(tallies, play(seed, p, tight))
	}
	return tallies
}

func table(tallies []tally) string {
	var s strings.Builder
	s.WriteString("| policy | virtual s | mean ms | server calls | 429 | failed | duplicates | lost writes | stale reads | own stale | stale volatile | past the chain | asked / needless | dangerous unasked |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, t := range tallies {
		fmt.Fprintf(&s, "| %s | %.0f | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d / %d | %d |\n", policies[i].name,
			t.lasted.Seconds(), (t.waited / (agents * turns)).Round(time.Millisecond).Milliseconds(), t.server, t.tooMany, t.failed,
			t.duplicates, t.lost, t.stale, t.ownStale, t.late, t.outdated, t.asked, t.needless, t.unasked)
	}
	return s.String()
}
