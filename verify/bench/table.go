package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

type row struct {
	Name       string             `json:"name"`
	Ratio      map[string]float64 `json:"ratio"` // peer ÷ ours
	Allocs     float64            `json:"allocs"`
	PeerAllocs map[string]float64 `json:"peer_allocs"`
	Goal       string             `json:"goal"`
	Met        bool               `json:"met"`
	// Cost is what ours took, for people: CPU time for most rows.
	Cost string `json:"cost,omitempty"`
}

func (r *row) judge(c contest) {
	var goals []string
	for _, peer := range c.ways[1:] {
		if least := c.goals[peer.name]; least > 0 {
			goals = append(goals, fmt.Sprintf("≥ %g× %s", least, peer.name))
			r.Met = r.Met && r.Ratio[peer.name] >= least
		}
	}
	if !math.IsInf(c.allocs, 1) {
		goals = append(goals, fmt.Sprintf("≤ %g allocs", c.allocs))
		r.Met = r.Met && r.Allocs <= c.allocs
	}
	r.Goal = strings.Join(goals, ", ")
}

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
