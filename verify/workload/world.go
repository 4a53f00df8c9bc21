package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// A request is one call that an agent wants, with its place in the run, from which
// its chance is drawn.
type request struct {
	agent, turn int
	tool        *tool
	raw         json.RawMessage
	about       []string
}

func (r *request) id() string { return fmt.Sprintf("%d/%d", r.agent, r.turn) }

// chance is a source of its own for each purpose, so that no policy changes the
// luck of another.
func chance(seed uint64, of ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// The faults, each attempt's own; bad arguments are bad each time.
const (
	unavailable = 0.03  // 503, before anything was done
	hangs       = 0.01  // a minute
	answerLost  = 0.02  // done, and nobody is told
	bad         = 0.015 // 400
)

const outageAt, outageFor = 100 * time.Second, 15 * time.Second

// A world is the three servers. It keeps what is true, and counts what was done.
type world struct {
	seed   uint64
	begun  time.Time
	quotas map[string]*rate.Limiter // nil for none

	mu       sync.Mutex
	versions map[string]int
	attempts map[string]int
	executed map[string]int // by request
	tally
}

// tally counts what became of the calls.
type tally struct {
	server, failed, tooMany           int
	duplicates, lost, stale, ownStale int
	asked, needless, unasked          int
	waited, lasted                    time.Duration
}

// quotas are calls a second, by server.
var quotas = map[string]float64{"crm": 12, "billing": 8, "notes": 3}

func newWorld(seed uint64, tight bool) *world {
	w := &world{seed: seed, begun: time.Now(), versions: map[string]int{}, attempts: map[string]int{}, executed: map[string]int{}}
	if tight {
		w.quotas = map[string]*rate.Limiter{}
		for server, n := range quotas {
			w.quotas[server] = rate.NewLimiter(rate.Limit(n), int(n))
		}
	}
	return w
}

// A fault is how a server fails.
type fault struct {
	status   int
	executed bool
	after    time.Duration
}

func (f *fault) Error() string {
	if f.status == 0 {
		return "connection reset"
	}
	return fmt.Sprintf("HTTP %d", f.status)
}

// What the chain may know of an HTTP answer: 429 means that nothing was done, 400
// that it would be of no use.
func (f *fault) Refused() bool             { return f.status == 429 }
func (f *fault) Permanent() bool           { return f.status == 400 }
func (f *fault) RetryAfter() time.Duration { return f.after }

// call is one attempt.
func (w *world) call(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
	w.mu.Lock()
	w.server++
	w.attempts[r.id()]++
	attempt := w.attempts[r.id()]
	luck := chance(w.seed, "attempt", r.agent, r.turn, attempt)
	now := time.Now()
	if limit := w.quotas[r.tool.server]; limit != nil && !limit.AllowN(now, 1) {
		w.tooMany++
		w.mu.Unlock()
		return nil, &fault{status: 429, after: time.Second}
	}
	w.mu.Unlock()
	took := time.Duration(float64(r.tool.median) * math.Exp(0.5*luck.NormFloat64()))
	kind := luck.Float64()
	since := now.Sub(w.begun)
	switch {
	case chance(w.seed, "bad", r.agent, r.turn).Float64() < bad:
		return nil, wait(ctx, took/2, &fault{status: 400})
	case r.tool.server == "billing" && since >= outageAt && since < outageAt+outageFor:
		return nil, wait(ctx, took/20, &fault{status: 503})
	case kind < unavailable:
		return nil, wait(ctx, took/10, &fault{status: 503})
	case kind < unavailable+hangs:
		return nil, wait(ctx, time.Minute+took, &fault{})
	}
	if err := wait(ctx, took/2, nil); err != nil {
		return nil, err
	}
	res := w.execute(r)
	if err := wait(ctx, took/2, nil); err != nil {
		return nil, err
	}
	if kind < unavailable+hangs+answerLost {
		return nil, &fault{executed: true}
	}
	return res, nil
}

func wait(ctx context.Context, d time.Duration, then error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return then
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// execute does what the tool does and answers with the version that it saw.
func (w *world) execute(r *request) *mcp.CallToolResult {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.tool.nature != reading {
		w.executed[r.id()]++
		if w.executed[r.id()] > 1 && r.tool.nature != updating {
			w.duplicates++
		}
		for _, name := range append(r.about, r.tool.server) {
			w.versions[name]++
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(w.version(r))}}}
}

// version of what the request is about; that of a list changes with every write to
// its server.
func (w *world) version(r *request) (v int) {
	if len(r.about) == 0 {
		return w.versions[r.tool.server]
	}
	for _, name := range r.about {
		v += w.versions[name]
	}
	return v
}

// ask is a person who takes five seconds and agrees.
func (w *world) ask(ctx context.Context, r *request) error {
	w.mu.Lock()
	w.asked++
	if r.tool.nature != wiping {
		w.needless++
	}
	w.mu.Unlock()
	return wait(ctx, 5*time.Second, nil)
}

var errOdd = errors.New("an answer that no tool gives")
