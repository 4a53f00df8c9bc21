// Command workload lets sixteen agents make 8,000 calls of seventeen tools on three
// servers under several policies, in virtual time, and prints what came of it. The
// same seed gives the same calls, latencies and faults to all of them.
//
//	go -C verify run ./workload              # the table, and docs/workload.svg
//	go -C verify run ./workload -seed 43
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func main() {
	testing.Init() // a bubble of virtual time asks for a test
	seed := flag.Uint64("seed", 42, "from which all chance is drawn")
	svg := flag.String("svg", "../docs/workload.svg", "where the picture goes; empty for nowhere")
	flag.Parse()
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "workload", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) { show(*seed, *svg) })
	}}}, nil, nil)
}

func show(seed uint64, svg string) {
	free := outcomes(seed, false)
	fmt.Printf("\nseed %d\n%s", seed, table(free))
	tight := outcomes(seed, true)
	fmt.Printf("\nwith quotas of 12, 8 and 3 calls a second\n%s", table(tight))
	if svg == "" {
		return
	}
	if err := os.WriteFile(svg, []byte(draw(free)), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

// outcomes plays every policy.
func outcomes(seed uint64, tight bool) []tally {
	tallies := make([]tally, 0, len(policies))
	for _, p := range policies {
		tallies = append(tallies, play(seed, p, tight))
	}
	return tallies
}

func table(tallies []tally) string {
	var s strings.Builder
	s.WriteString("| policy | virtual s | mean ms | server calls | 429 | failed | duplicates | lost writes | stale reads | own stale | asked / needless | dangerous unasked |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, t := range tallies {
		fmt.Fprintf(&s, "| %s | %.0f | %d | %d | %d | %d | %d | %d | %d | %d | %d / %d | %d |\n", policies[i].name,
			t.lasted.Seconds(), (t.waited / (agents * turns)).Round(time.Millisecond).Milliseconds(), t.server, t.tooMany, t.failed,
			t.duplicates, t.lost, t.stale, t.ownStale, t.asked, t.needless, t.unasked)
	}
	return s.String()
}
