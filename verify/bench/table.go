package main

import (
	"fmt"
	"slices"
	"strings"
)

const tableHead = "benchmark                ours        allocs  peers: ratio (allocs)                                     goal"

func (r row) line() string {
	var peers []string
	for name, ratio := range r.Ratio {
		peer := fmt.Sprintf("%s %g×", name, ratio)
		if allocs, ok := r.PeerAllocs[name]; ok {
			peer += fmt.Sprintf(" (%g)", allocs)
		}
		peers = append(peers, peer)
	}
	slices.Sort(peers)
	met := "met"
	if !r.Met {
		met = "MISSED"
	}
	return fmt.Sprintf("%-24s %-11s %-7g %-58s %s: %s", r.Name, r.Cost, r.Allocs, strings.Join(peers, ", "), met, r.Goal)
}
