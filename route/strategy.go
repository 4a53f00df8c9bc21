package route

import (
	"bytes"
	"crypto/sha256"
	"math"
	"slices"

	"github.com/fairlead-go/fairlead/middleware"
)

// A Strategy chooses among the replicas that safety and health leave. The zero value goes round.
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
	// Capability takes those that have most of the tool's tags as capabilities, in turns.
	Capability
	// Affinity keeps a scope at one replica; replicas that come and go move only their own scopes.
	Affinity
)

// choose returns one of the replicas found; the caller holds the mutex.
func (p *Pool) choose(call middleware.Call, found []*member) *member {
	p.turn++
	switch p.strategy {
	case Weighted:
		return p.byWeight(found)
	case LeastConnections:
		found = best(found, func(m *member) int { return -m.busy })
	case Category:
		found, _ = prefer(found, call.Tool.Annotations.Category, "", "")
	case Capability:
		found = best(found, func(m *member) int { return m.capable(call.Tool) })
	case Affinity:
		// Rendezvous hashing: each scope ranks the replicas in its own order, the same in every process.
		return slices.MaxFunc(found, func(a, b *member) int { return bytes.Compare(a.rank(call.Scope), b.rank(call.Scope)) })
	case RoundRobin:
	}
	return found[p.turn%uint64(len(found))]
}

// best returns those with the highest score.
func best(found []*member, score func(*member) int) []*member {
	most := math.MinInt
	for _, m := range found {
		most = max(most, score(m))
	}
	return keep(found, func(m *member) bool { return score(m) == most })
}

func (m *member) capable(tool *middleware.Tool) int {
	n := 0
	for _, tag := range tool.Annotations.Tags {
		if slices.Contains(m.Capabilities, tag) {
			n++
		}
	}
	return n
}

// golden spreads consecutive numbers evenly over a uint64, so that the shares alternate.
const golden = 0x9E3779B97F4A7C15

// byWeight gives each replica an interval as long as its weight, and walks over them by the golden ratio: any few
// calls in a row are spread by weight, and no replica gets its share at once.
func (p *Pool) byWeight(found []*member) *member {
	total := 0
	for _, m := range found {
		total += m.Weight
	}
	at := int((p.turn * golden >> 32) * uint64(total) >> 32)
	for _, m := range found {
		if at -= m.Weight; at < 0 {
			return m
		}
	}
	return found[len(found)-1]
}

func (m *member) rank(scope string) []byte {
	sum := sha256.Sum256([]byte(m.ID + "\x00" + scope))
	return sum[:]
}
