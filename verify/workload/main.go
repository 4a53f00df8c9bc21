// Command workload lets sixteen agents make 8,000 calls of twenty tools on four servers under several
// policies, in virtual time, and prints the results. The same seed gives all policies the same calls,
// latencies and faults.
//
//	go -C verify run ./workload              # the tables of docs/reference/performance.md
//	go -C verify run ./workload -seed 43
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/verify/world"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

func main() {
	testing.Init() // a bubble of virtual time asks for a test
	seed := flag.Uint64("seed", 42, "from which all chance is drawn")
	flag.Parse()
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "workload", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			fmt.Printf("\nseed %d\n%s", *seed, table(outcomes(*seed, false)))
			fmt.Printf("\nwith quotas of 12, 8, 3 and 3 calls a second\n%s", table(outcomes(*seed, true)))
		})
	}}}, nil, nil)
}

func outcomes(seed uint64, tight bool) []tally {
	tallies := make([]tally, 0, len(policies))
	for _, p := range policies {
		tallies = append(tallies, play(seed, p, tight))
	}
	return tallies
}

func table(tallies []tally) string {
	var s strings.Builder
	s.WriteString("| policy | virtual s | mean ms | server calls | 429 | failed | duplicates | lost writes | stale reads | own stale | stale volatile | past the chain | asked / needless | dangerous unasked |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, t := range tallies {
		fmt.Fprintf(&s, "| %s | %.0f | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d / %d | %d |\n", policies[i].name,
			t.lasted.Seconds(), (t.waited / (agents * turns)).Round(time.Millisecond).Milliseconds(), t.server, t.tooMany, t.failed,
			t.duplicates, t.lost, t.stale, t.ownStale, t.late, t.outdated, t.asked, t.needless, t.unasked)
	}
	return s.String()
}

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

// attemptTime is how long every policy but the first lets an attempt take.
const attemptTime = 5 * time.Second

var policies = []policy{
	{"bare", func(w *run) caller { return w.send }},
	{"retry all (failsafe-go)", func(w *run) caller { return retrying(w.send) }},
	{"cache and retry all", cacheAll},
	{"Fairlead", fairlead},
	{"Fairlead, declared tools", fairleadDeclared},
	{"oracle", newOracle},
}

func (w *run) send(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
	if r.tool.kind == world.Delete {
		w.mu.Lock()
		if w.attempts[r.id()] == 0 {
			w.unasked++
		}
		w.mu.Unlock()
	}
	return w.call(ctx, r)
}

// retrying is failsafe-go's retry and time limit around every attempt.
func retrying(send caller) caller {
	again := retrypolicy.NewBuilder[*mcp.CallToolResult]().WithMaxAttempts(3).WithBackoff(200*time.Millisecond, 10*time.Second).Build()
	exec := failsafe.With(again, failsafe.Policy[*mcp.CallToolResult](timeout.New[*mcp.CallToolResult](attemptTime)))
	return func(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
		return exec.WithContext(ctx).GetWithExecution(func(e failsafe.Execution[*mcp.CallToolResult]) (*mcp.CallToolResult, error) {
			return send(e.Context(), r)
		})
	}
}

type kept struct {
	res   *mcp.CallToolResult
	until time.Time
}

func cacheAll(w *run) caller {
	send := retrying(w.send)
	known, err := lru.New[string, kept](10_000)
	if err != nil {
		panic(err)
	}
	return func(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
		key := r.tool.String() + string(r.raw)
		if k, ok := known.Get(key); ok && time.Now().Before(k.until) {
			return k.res, nil
		}
		res, err := send(ctx, r)
		if err == nil {
			known.Add(key, kept{res, time.Now().Add(5 * time.Minute)})
		}
		return res, err
	}
}

// An oracle has the effect of every tool, the changes of every write and the outcome of every attempt.
type oracle struct {
	w      *run
	limits map[string]*rate.Limiter

	mu    sync.Mutex
	known map[string]*versioned
}

// A versioned result is used by all that ask for it while its version is the last one.
type versioned struct {
	turn    chan struct{} // has room for the one caller that may fetch it
	res     *mcp.CallToolResult
	version int64
}

func newOracle(w *run) caller {
	o := &oracle{w: w, known: map[string]*versioned{}}
	if w.quotas != nil {
		o.limits = limiters()
	}
	return o.call
}

func (o *oracle) call(ctx context.Context, r *request) (*mcp.CallToolResult, error) {
	if r.tool.kind == world.Delete {
		if err := o.w.ask(ctx, r); err != nil {
			return nil, err
		}
	}
	if r.tool.kind != world.Read {
		return o.send(ctx, r)
	}
	o.mu.Lock()
	key := r.tool.String() + string(r.raw)
	k := o.known[key]
	if k == nil {
		k = &versioned{turn: make(chan struct{}, 1)}
		o.known[key] = k
	}
	o.mu.Unlock()
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	before := o.w.version(r)
	if k.res != nil && k.version == before {
		return k.res, nil
	}
	res, err := o.send(ctx, r)
	if err == nil && before == o.w.version(r) {
		k.res, k.version = res, before
	}
	return res, err
}

// send repeats an attempt that was not executed, or may be repeated.
func (o *oracle) send(ctx context.Context, r *request) (res *mcp.CallToolResult, err error) {
	pause := 100 * time.Millisecond
	for range 3 {
		if limit := o.limits[r.tool.server]; limit != nil {
			if err := limit.Wait(ctx); err != nil {
				return nil, err
			}
		}
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		res, err = o.w.call(attempt, r)
		cancel()
		f, _ := errors.AsType[*world.Fault](err)
		if err == nil || f != nil && f.Status == 400 || r.tool.kind > world.Update && o.w.ledger.Times(r.id()) > 0 { // it was executed, and must not be repeated
			return res, err
		}
		time.Sleep(pause)
		pause *= 2
	}
	return res, err
}

// A tool is one of the twenty. The words of several suggest another kind.
type tool struct {
	server, name, description string
	kind                      world.Kind // only the oracle may read it
	names                     []string   // members that name what it is about: "id" and "of"; none for a list
	weight                    int        // of 1,000 calls
	median                    time.Duration
	fresh                     annotation.Freshness // of a read, by the same rule
}

var tools = []tool{
	{"crm", "get_customer", "Retrieve one customer.", world.Read, []string{"id"}, 145, 180 * time.Millisecond, annotation.Shared},
	{"crm", "list_customers", "Lists customers, newest first.", world.Read, nil, 20, 400 * time.Millisecond, annotation.Shared},
	{"crm", "search_orders", "Search the orders of a customer. Deleted orders are left out.", world.Read, []string{"of"}, 110, 350 * time.Millisecond, annotation.Shared},
	{"crm", "update_customer", "Update a customer and show what it looks like now.", world.Update, []string{"id"}, 40, 250 * time.Millisecond, ""},
	{"crm", "add_contact", "Create a contact person. Check first that it is not there; returns what to display.", world.Add, []string{"of"}, 30, 300 * time.Millisecond, ""},
	{"crm", "delete_customer", "Delete a customer.", world.Delete, []string{"id"}, 4, 300 * time.Millisecond, ""},

	{"billing", "get_invoice", "Read one invoice.", world.Read, []string{"id"}, 130, 220 * time.Millisecond, annotation.Shared},
	{"billing", "find_invoices", "Find the invoices of a customer.", world.Read, []string{"of"}, 110, 380 * time.Millisecond, annotation.Shared},
	{"billing", "totals", "Open amounts by currency.", world.Read, nil, 8, 600 * time.Millisecond, annotation.Shared},
	{"billing", "create_invoice", "Create an invoice and get its ID.", world.Add, []string{"of"}, 35, 320 * time.Millisecond, ""},
	{"billing", "set_due_date", "Set the due date of an invoice.", world.Update, []string{"id", "of"}, 25, 200 * time.Millisecond, ""},
	{"billing", "void_invoice", "Voids an invoice for good, after a look at its payments.", world.Delete, []string{"id", "of"}, 5, 300 * time.Millisecond, ""},

	{"notes", "read_note", "Shows a note.", world.Read, []string{"id"}, 165, 120 * time.Millisecond, annotation.Stable},
	{"notes", "search_notes", "Full-text search.", world.Read, nil, 30, 450 * time.Millisecond, annotation.Stable},
	{"notes", "append_note", "Add a line to a note. Use read_note to view it.", world.Add, []string{"id"}, 34, 150 * time.Millisecond, ""},
	{"notes", "rename_note", "Replace the title of a note; find it with search_notes.", world.Update, []string{"id"}, 23, 150 * time.Millisecond, ""},
	{"notes", "purge_note", "Removes a note and its history.", world.Delete, []string{"id"}, 6, 200 * time.Millisecond, ""},

	{"live", "get_import_status", "Get the status of an import. Poll until it is done.", world.Read, nil, 35, 90 * time.Millisecond, annotation.Volatile},
	{"live", "get_balance", "Get the current balance of a customer's account.", world.Read, nil, 25, 150 * time.Millisecond, annotation.Volatile},
	{"live", "list_viewers", "Lists the users who are online now.", world.Read, nil, 20, 100 * time.Millisecond, annotation.Volatile},
}

func (t *tool) String() string { return t.server + "/" + t.name }

// arguments returns the tool's arguments for the thing of a number, and the names of what it is
// about: an invoice is one of a tenth as many customers.
func (t *tool) arguments(agent, thing int) (raw json.RawMessage, about []string) {
	given := map[string]string{}
	for _, member := range t.names {
		name := fmt.Sprintf("%s-%d", t.server, thing)
		if member == "of" {
			name = fmt.Sprintf("%s-of-%d", t.server, thing%250)
		}
		given[member] = name
		about = append(about, name)
	}
	if len(t.names) == 0 {
		given["page"] = fmt.Sprint(thing % 3)
	}
	if t.kind != world.Read {
		// The agent's own, so that no two agents wait for the answer to one question.
		given["value"] = fmt.Sprintf("by %d", agent)
	}
	raw, err := json.Marshal(given)
	if err != nil {
		panic(err)
	}
	return raw, about
}
