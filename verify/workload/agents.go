package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type policy struct {
	name string
	make func(w *run, tight bool) caller
}

type caller func(ctx context.Context, r *request) (*mcp.CallToolResult, error)

const (
	agents = 16
	turns  = 500
	things = 500
)

// play lets the agents work under a policy, in virtual time: it runs in a bubble.
func play(seed uint64, p policy, tight bool) tally {
	w := newRun(seed, tight)
	call := p.make(w, tight)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go w.others(ctx)
	var all sync.WaitGroup
	for agent := range agents {
		all.Go(func() { w.agent(agent, call) })
	}
	all.Wait()
	w.lasted = time.Since(w.begun)
	return w.tally
}

func (w *run) agent(agent int, call caller) {
	plan := chance(w.seed, "plan", agent)
	zipf := rand.NewZipf(plan, 1.2, 1, things-1)
	seen := map[string]int64{} // the versions of its own writes
	// No two agents do anything at one instant, so that a run is like the other.
	time.Sleep(time.Duration(1+agent) * 1_000_003)
	for turn := range turns {
		time.Sleep(time.Duration(1 + plan.Int64N(int64(1500*time.Millisecond))))
		r := &request{agent: agent, turn: turn, tool: pick(plan.IntN(1000))}
		r.raw, r.about = r.tool.arguments(agent, int(zipf.Uint64()))
		w.one(r, seen, call)
	}
}

// others write past every policy, once a second, and change all volatile data.
func (w *run) others(ctx context.Context) {
	luck := chance(w.seed, "others")
	zipf := rand.NewZipf(luck, 1.2, 1, things-1)
	for world.Wait(ctx, time.Duration(1+luck.Int64N(int64(2*time.Second)))) == nil {
		w.servers["live"].Execute("", world.Update, nil)
		for _, t := range []*tool{&tools[3], &tools[10]} { // update_customer, set_due_date
			_, about := t.arguments(agents, int(zipf.Uint64()))
			w.servers[t.server].Execute("", t.kind, nil, about...)
		}
	}
}

func pick(n int) *tool {
	for i := range tools {
		if n -= tools[i].weight; n < 0 {
			return &tools[i]
		}
	}
	panic("the weights do not add up to 1,000")
}

func (w *run) one(r *request, seen map[string]int64, call caller) {
	about := fmt.Sprint(r.about, r.tool.server)
	w.mu.Lock()
	true0, byAgents := w.version(r), w.written[about]
	w.mu.Unlock()
	begun := time.Now()
	res, err := call(context.Background(), r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited += time.Since(begun)
	if err != nil {
		w.failed++
		return
	}
	version, err := world.VersionOf(res)
	if err != nil {
		panic(err)
	}
	switch {
	case r.tool.kind == world.Read:
		switch {
		case version >= true0:
		case r.tool.fresh == annotation.Volatile:
			w.late++
		case version < byAgents:
			w.stale++
		default:
			w.outdated++
		}
		if version < seen[about] {
			w.ownStale++
		}
	case w.ledger.Times(r.id()) == 0:
		w.lost++
	default:
		w.remember(r, seen)
	}
}

// remember records the version that the agent may expect to read from now on.
func (w *run) remember(r *request, seen map[string]int64) {
	server := w.servers[r.tool.server]
	for _, name := range r.about {
		seen[fmt.Sprint([]string{name}, r.tool.server)] = server.Version(name)
	}
	seen[fmt.Sprint([]string(nil), r.tool.server)] = server.Version()
}
