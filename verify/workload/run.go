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
	quotas  map[string]*rate.Limiter // nil for none
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
