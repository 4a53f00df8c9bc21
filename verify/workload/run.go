package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// A request is one call that an agent wants. Its chance is drawn from its place in the run.
type request struct {
	agent, turn int
	tool        *tool
	raw         json.RawMessage
	about       []string
}

func (r *request) id() string { return fmt.Sprintf("%d/%d", r.agent, r.turn) }

// chance is a source of its own for each purpose, so that policies share their luck.
func chance(seed uint64, of ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// The faults, each attempt's own; bad arguments are bad each time.
const (
	unavailable = 0.03  // 503, before anything was done
	hangs       = 0.01  // a minute
	answerLost  = 0.02  // executed, and the answer is lost
	bad         = 0.015 // 400
)

const outageAt, outageFor = 100 * time.Second, 15 * time.Second

// A run is the four servers under one policy. Others than the agents write to three of them.
type run struct {
	seed    uint64
	begun   time.Time
	quotas  map[string]*rate.Limiter // nil if they are not tight
	servers map[string]*world.Server // by state
	ledger  world.Ledger

	mu       sync.Mutex
	attempts map[string]int
	written  map[string]int64 // the versions of all agents' writes
	tally
}

type tally struct {
	server, failed, tooMany           int
	duplicates, lost, stale, ownStale int
	late, outdated                    int // stale volatile reads; reads older than others' writes
	asked, needless, unasked          int
	waited, lasted                    time.Duration
}

var quotas = map[string]float64{"crm": 12, "billing": 8, "notes": 3, "live": 3}

func newRun(seed uint64, tight bool) *run {
	w := &run{seed: seed, begun: time.Now(), attempts: map[string]int{}, written: map[string]int64{}, servers: map[string]*world.Server{}}
	for server := range quotas {
		w.servers[server] = &world.Server{Ledger: &w.ledger}
	}
	if tight {
		w.quotas = limiters()
	}
	return w
}

func limiters() map[string]*rate.Limiter {
	all := map[string]*rate.Limiter{}
	for server, n := range quotas {
		all[server] = rate.NewLimiter(rate.Limit(n), int(n))
	}
	return all
}

func (w *run) call(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
	w.mu.Lock()
	w.server++
	w.attempts[r.id()]++
	attempt := w.attempts[r.id()]
	luck := chance(w.seed, "attempt", r.agent, r.turn, attempt)
	now := time.Now()
	if limit := w.quotas[r.tool.server]; limit != nil && !limit.AllowN(now, 1) {
		w.tooMany++
		w.mu.Unlock()
		return nil, &world.Fault{Status: 429, After: time.Second}
	}
	w.mu.Unlock()
	took := time.Duration(float64(r.tool.median) * math.Exp(0.5*luck.NormFloat64()))
	kind := luck.Float64()
	since := now.Sub(w.begun)
	switch {
	case chance(w.seed, "bad", r.agent, r.turn).Float64() < bad:
		return nil, failing(ctx, took/2, 400)
	case r.tool.server == "billing" && since >= outageAt && since < outageAt+outageFor:
		return nil, failing(ctx, took/20, 503)
	case kind < unavailable:
		return nil, failing(ctx, took/10, 503)
	case kind < unavailable+hangs:
		return nil, failing(ctx, time.Minute+took, 0)
	}
	if err := world.Wait(ctx, took/2); err != nil {
		return nil, err
	}
	res := w.execute(r)
	if err := world.Wait(ctx, took/2); err != nil {
		return nil, err
	}
	if kind < unavailable+hangs+answerLost {
		return nil, &world.Fault{}
	}
	return res, nil
}

func failing(ctx context.Context, after time.Duration, status int) error {
	return cmp.Or[error](world.Wait(ctx, after), &world.Fault{Status: status})
}

// execute does what the tool does and answers with the version that it saw.
func (w *run) execute(r *request) *mcp.CallToolResult {
	version := w.servers[r.tool.server].Execute(r.id(), r.tool.kind, nil, r.about...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.tool.kind > world.Update && w.ledger.Times(r.id()) > 1 {
		w.duplicates++
	}
	if r.tool.kind != world.Read {
		w.remember(r, w.written)
	}
	return world.Result(version)
}

func (w *run) version(r *request) int64 { return w.servers[r.tool.server].Version(r.about...) }

// ask waits for five seconds and approves, as a person does.
func (w *run) ask(ctx context.Context, r *request) error {
	w.mu.Lock()
	w.asked++
	if r.tool.kind != world.Delete {
		w.needless++
	}
	w.mu.Unlock()
	return world.Wait(ctx, 5*time.Second)
}

type policy struct {
	name string
	make func(*run) caller
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
	call := p.make(w)
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
