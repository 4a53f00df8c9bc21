package route

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Replica is one of several servers that stand for the same logical one.
type Replica struct {
	// ID names the replica in errors, logs and records.
	ID string
	// Caller calls the tool on this replica. It must be guarded, as every executor:
	// Catalog.Replica returns one that is. Where it has a method Offers(*middleware.Tool)
	// bool, a tool that it does not offer in the accepted definition is not sent there.
	Caller middleware.ToolCaller
	// Weight is the share of the calls under [Weighted], 1 to 100; 0 means 1. A replica
	// of 50 and more is a primary, and only primaries get what is dangerous or unknown.
	Weight int
	// Categories say what the replica is for. "caching" draws what is idempotent, and
	// "high-compute" what is complex or costs more than 100.
	Categories []string
	// Capabilities are the tags of tools that the replica is fit for (see [Capability]).
	Capabilities []string
	// Meta is laid over the call's _meta for this replica alone. Read-only.
	Meta mcp.Meta
}

// primary is the weight from which a replica gets what is dangerous.
const primary = 50

// Categories that draw tools by what is known about them.
const (
	Caching     = "caching"
	HighCompute = "high-compute"
)

// maxReplicas is how many fit into a set.
const maxReplicas = 64

// A set holds replicas by their place in the pool.
type set uint64

func (s set) has(i int) bool { return s&(1<<i) != 0 }
func (s set) count() int     { return bits.OnesCount64(uint64(s)) }

// nth returns the place of the nth replica in the set, from 0.
func (s set) nth(n int) int {
	for ; n > 0; n-- {
		s &= s - 1
	}
	return bits.TrailingZeros64(uint64(s))
}

// A Pool is the replicas of one server, with their health. It is safe for
// concurrent use.
type Pool struct {
	server   string
	strategy Strategy
	replicas []Replica
	offers   []func(*middleware.Tool) bool // nil for one that offers all

	primaries, caching, compute set

	used atomic.Bool
	o    Options

	mu     sync.Mutex
	states []state
	turn   uint64 // of the strategies that go round
}

// NewPool returns the pool of a server, by the id that the host gave it. It panics
// on what cannot be meant: no replica or more than 64, two with one ID, one without
// an ID or a caller, a weight below 0 or above 100, an unknown strategy.
func NewPool(server string, strategy Strategy, replicas ...Replica) *Pool {
	switch {
	case server == "":
		panic("route: NewPool was given no server")
	case strategy > Affinity:
		panic(fmt.Sprintf("route: the strategy of the pool of %s is %d; use one of RoundRobin to Affinity", server, strategy))
	case len(replicas) == 0 || len(replicas) > maxReplicas:
		panic(fmt.Sprintf("route: the pool of %s has %d replicas; it needs 1 to %d", server, len(replicas), maxReplicas))
	}
	p := &Pool{server: server, strategy: strategy, states: make([]state, len(replicas))}
	p.o = Options{}.resolved()
	ids := make(map[string]bool)
	for i, r := range replicas {
		switch {
		case r.ID == "" || ids[r.ID]:
			panic(fmt.Sprintf("route: replica %d of %s needs an ID of its own, not %q", i, server, r.ID))
		case r.Caller == nil:
			panic(fmt.Sprintf("route: the replica %s of %s has a nil Caller", r.ID, server))
		case r.Weight < 0 || r.Weight > 100:
			panic(fmt.Sprintf("route: the weight of the replica %s of %s is %d; it must be 0 to 100", r.ID, server, r.Weight))
		}
		ids[r.ID] = true
		p.add(i, r)
	}
	return p
}

func (p *Pool) add(i int, r Replica) {
	r.Weight = max(r.Weight, 1)
	p.replicas = append(p.replicas, r)
	var offers func(*middleware.Tool) bool
	if o, ok := r.Caller.(interface {
		Offers(tool *middleware.Tool) bool
	}); ok {
		offers = o.Offers
	}
	p.offers = append(p.offers, offers)
	if r.Weight >= primary {
		p.primaries |= 1 << i
	}
	for _, c := range r.Categories {
		switch c {
		case Caching:
			p.caching |= 1 << i
		case HighCompute:
			p.compute |= 1 << i
		}
	}
}

// use takes the settings of the middleware, once.
func (p *Pool) use(o Options) {
	if p.used.Swap(true) {
		panic("route: the pool of " + p.server + " is in use already; make one for each middleware")
	}
	p.o = o
}

// Candidates returns the IDs of the replicas that a call of the tool may go to now,
// in the order of the pool, without calling any: what safety allows and health,
// narrowed by what is preferred. The error is a [*NoReplicaError].
func (p *Pool) Candidates(tool *middleware.Tool) ([]string, error) {
	if tool == nil {
		tool = new(middleware.Tool) // of which nothing is known
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	found, _ := p.narrow(tool, 0, at)
	if found == 0 {
		return nil, p.none(tool, 0, at)
	}
	ids := make([]string, 0, found.count())
	for i := range p.replicas {
		if found.has(i) {
			ids = append(ids, p.replicas[i].ID)
		}
	}
	return ids, nil
}

// pick chooses a replica for one try and marks it as busy. why is for records.
func (p *Pool) pick(call middleware.Call, tried set) (chosen int, why string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	found, why := p.narrow(call.Tool, tried, at)
	if found == 0 {
		return 0, "", p.none(call.Tool, tried, at)
	}
	chosen = p.choose(call, found)
	p.states[chosen].busy++
	return chosen, why, nil
}

// narrow applies the rules in their order: what safety demands, what health
// allows, then what is preferred where there is a choice.
func (p *Pool) narrow(tool *middleware.Tool, tried set, at time.Time) (found set, why string) {
	allowed, why := p.allowed(tool)
	allowed &^= tried
	healthy, trial := p.healthy(allowed, at)
	switch a := &tool.Annotations; {
	case tool.Safety() == annotation.Safe:
		healthy |= trial // a read is a good trial: where it fails, another replica answers
	case healthy == 0:
		healthy = trial
	case a.Idempotent == annotation.Yes && !tool.Safety().MustConfirm():
		healthy, why = prefer(healthy, p.caching, why, "idempotent: a caching replica")
	}
	if demanding(&tool.Annotations) {
		healthy, why = prefer(healthy, p.compute, why, "complex or costly: a high-compute replica")
	}
	return healthy, why
}

// allowed returns the replicas that may have the tool at all.
func (p *Pool) allowed(tool *middleware.Tool) (set, string) {
	found, why := set(1)<<len(p.replicas)-1, "any replica"
	if tool.Safety().MustConfirm() {
		found, why = p.primaries, "dangerous or unknown: primaries only"
	}
	for i, offers := range p.offers {
		if offers != nil && found.has(i) && !offers(tool) {
			found &^= 1 << i
		}
	}
	return found, why
}

// prefer returns the part of the set that is preferred, where there is one.
func prefer(s, preferred set, why, because string) (set, string) {
	if s&preferred == 0 {
		return s, why
	}
	return s & preferred, because
}

// demanding reports whether a tool belongs on hardware for heavy work.
func demanding(a *annotation.Annotations) bool {
	return a.Complexity == annotation.Complex || a.CostHint != nil && *a.CostHint > 100
}
