package route

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/fairlead-go/fairlead/middleware"
)

// A Strategy chooses among the replicas that safety and health leave. The zero
// value goes round.
type Strategy uint8

const (
	// RoundRobin gives each its turn.
	RoundRobin Strategy = iota
	// Weighted gives each its share by weight.
	Weighted
	// LeastConnections takes the one with the fewest calls under way.
	LeastConnections
	// Category takes those of the tool's category where there are any, in turns.
	Category
	// Capability takes those that have most of the tool's tags as capabilities, in
	// turns.
	Capability
	// Affinity keeps a scope at one replica while that one is there. Replicas that come
	// and go move only their own scopes.
	Affinity
)

// String returns the strategy as the article names it.
func (s Strategy) String() string {
	names := [...]string{"round-robin", "weighted", "least-connections", "category", "capability", "affinity"}
	if int(s) < len(names) {
		return names[s]
	}
	return "no strategy"
}

// choose returns one of the replicas found; the caller holds the mutex.
func (p *Pool) choose(call middleware.Call, found set) int {
	p.turn++
	switch p.strategy {
	case Weighted:
		return p.byWeight(found)
	case LeastConnections:
		found = p.best(found, func(i int) int { return -p.states[i].busy })
	case Category:
		found = p.best(found, func(i int) int { return p.inCategory(i, call.Tool) })
	case Capability:
		found = p.best(found, func(i int) int { return p.capable(i, call.Tool) })
	case Affinity:
		return p.byScope(found, call.Scope)
	case RoundRobin:
	}
	return found.nth(int(p.turn % uint64(found.count())))
}

// best returns those of the set whose score is highest.
func (p *Pool) best(found set, score func(i int) int) set {
	var out set
	most := 0
	for i := range p.replicas {
		if !found.has(i) {
			continue
		}
		switch s := score(i); {
		case out == 0 || s > most:
			out, most = 1<<i, s
		case s == most:
			out |= 1 << i
		}
	}
	return out
}

func (p *Pool) inCategory(i int, tool *middleware.Tool) int {
	if c := tool.Annotations.Category; c != "" && slices.Contains(p.replicas[i].Categories, c) {
		return 1
	}
	return 0
}

func (p *Pool) capable(i int, tool *middleware.Tool) int {
	n := 0
	for _, tag := range tool.Annotations.Tags {
		if slices.Contains(p.replicas[i].Capabilities, tag) {
			n++
		}
	}
	return n
}

// golden spreads consecutive numbers evenly over the range of a uint64, so that
// the shares come in turns and not in blocks.
const golden = 0x9E3779B97F4A7C15

func (p *Pool) byWeight(found set) int {
	total := 0
	for i, r := range p.replicas {
		if found.has(i) {
			total += r.Weight
		}
	}
	at := int((p.turn * golden >> 32) * uint64(total) >> 32)
	chosen := 0
	for i, r := range p.replicas {
		if !found.has(i) {
			continue
		}
		chosen = i
		if at -= r.Weight; at < 0 {
			break
		}
	}
	return chosen
}

// byScope is rendezvous hashing: each scope ranks the replicas in an order of its
// own and takes the first that is there. The order is the same in every process.
func (p *Pool) byScope(found set, scope string) int {
	chosen, most := 0, uint64(0)
	for i := range p.replicas {
		if !found.has(i) {
			continue
		}
		rank := sha256.Sum256([]byte(p.replicas[i].ID + "\x00" + scope))
		if h := binary.BigEndian.Uint64(rank[:]); h >= most {
			chosen, most = i, h
		}
	}
	return chosen
}
