package route

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Replica is one of several servers that stand for the same logical one.
type Replica struct {
	// ID names the replica in errors, logs and records.
	ID string
	// Caller calls the tool on this replica. It must be guarded; Catalog.Replica returns one that is. If it has a method
	// Offers(*middleware.Tool) bool, a tool for which that returns false is not sent there.
	Caller middleware.ToolCaller
	// Weight is the share of the calls under [Weighted], 1 to 100; 0 means 1. From 50 on a replica is a primary.
	Weight int
	// Categories are labels: "caching" attracts idempotent tools, "high-compute" complex ones or those above cost 100.
	Categories []string
	// Capabilities are the tags of tools that the replica is fit for (see [Capability]).
	Capabilities []string
}

// primary is the weight from which on a replica is a primary.
const primary = 50

// Categories that draw tools by what is known about them.
const (
	Caching     = "caching"
	HighCompute = "high-compute"
)

// A member is a replica in its pool.
type member struct {
	Replica
	state

	offers func(*middleware.Tool) bool // nil for one that offers all
}

func (m *member) primary() bool { return m.Weight >= primary }

func (m *member) is(category string) bool { return slices.Contains(m.Categories, category) }

// keep returns a new slice of those that ok holds for.
func keep(among []*member, ok func(*member) bool) []*member {
	return slices.DeleteFunc(slices.Clone(among), func(m *member) bool { return !ok(m) })
}

// A Pool is the replicas of one server, with their health. It is safe for concurrent use. The zero value is not ready;
// use [NewPool].
type Pool struct {
	server   string
	strategy Strategy
	members  []*member
	used     atomic.Bool
	o        Options // once New has it

	mu   sync.Mutex // guards the health of the members
	turn uint64     // of the strategies that go round
}

// NewPool returns the pool of a server, by the id that the host gave it. It panics without a replica, on two with one ID,
// on one without an ID or a caller, on a weight below 0 or above 100, and on an unknown strategy.
func NewPool(server string, strategy Strategy, replicas ...Replica) *Pool {
	switch {
	case server == "":
		panic("route: NewPool was given no server")
	case strategy > Affinity:
		panic(fmt.Sprintf("route: the strategy of the pool of %s is %d; use one of RoundRobin to Affinity", server, strategy))
	case len(replicas) == 0:
		panic(fmt.Sprintf("route: the pool of %s has 0 replicas; it needs one", server))
	}
	p := &Pool{server: server, strategy: strategy}
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
		r.Weight = max(r.Weight, 1)
		m := &member{Replica: r}
		if o, ok := r.Caller.(interface {
			Offers(tool *middleware.Tool) bool
		}); ok {
			m.offers = o.Offers
		}
		p.members = append(p.members, m)
	}
	return p
}

// Candidates returns the IDs of the replicas to which a call of the tool may go now, in the order of the pool, without
// calling any. The error is a [*NoReplicaError].
func (p *Pool) Candidates(tool *middleware.Tool) ([]string, error) {
	if tool == nil {
		tool = new(middleware.Tool) // an unknown one
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	found, _ := p.narrow(tool, nil, at)
	if len(found) == 0 {
		return nil, p.none(tool, nil, at)
	}
	var ids []string
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// pick chooses a replica for one try and marks it as busy. why is for records.
func (p *Pool) pick(call middleware.Call, tried []*member) (chosen *member, why string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	found, why := p.narrow(call.Tool, tried, at)
	if len(found) == 0 {
		return nil, "", p.none(call.Tool, tried, at)
	}
	chosen = p.choose(call, found)
	chosen.busy++
	return chosen, why, nil
}

// narrow applies the rules in their order: safety, health, then preferences if there is a choice.
func (p *Pool) narrow(tool *middleware.Tool, tried []*member, at time.Time) (found []*member, why string) {
	allowed, why := p.allowed(tool)
	allowed = keep(allowed, func(m *member) bool { return !slices.Contains(tried, m) })
	safe := tool.Safety() == annotation.Safe
	// A read is a good trial: if it fails, another replica answers.
	found = keep(allowed, func(m *member) bool { return !m.failed || safe && m.trial(at) })
	switch {
	case len(found) == 0:
		found = keep(allowed, func(m *member) bool { return m.trial(at) })
	case !safe && tool.Annotations.Idempotent == annotation.Yes && !tool.Safety().MustConfirm():
		found, why = prefer(found, Caching, why, "idempotent: a caching replica")
	}
	if a := &tool.Annotations; a.Complexity == annotation.Complex || a.CostHint != nil && *a.CostHint > 100 {
		found, why = prefer(found, HighCompute, why, "complex or costly: a high-compute replica")
	}
	return found, why
}

// allowed returns the replicas that may have a call of the tool at all, healthy or not.
func (p *Pool) allowed(tool *middleware.Tool) ([]*member, string) {
	found, why := p.members, "any replica"
	if tool.Safety().MustConfirm() {
		found, why = keep(found, (*member).primary), "dangerous or unknown: primaries only"
	}
	return keep(found, func(m *member) bool { return m.offers == nil || m.offers(tool) }), why
}

// prefer returns those of a category if there are any, and all otherwise.
func prefer(found []*member, category, why, because string) ([]*member, string) {
	if preferred := keep(found, func(m *member) bool { return m.is(category) }); len(preferred) > 0 {
		return preferred, because
	}
	return found, why
}
