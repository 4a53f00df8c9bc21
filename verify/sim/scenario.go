// Package sim plays seeded scenarios in virtual time over the real chain of the real packages, and
// checks after each what the chain promises.
//
// A scenario is drawn from its seed: tenants; a trusted server, an untrusted one with the same definitions, and
// a lying one; some dozens of calls with deadlines, cancellations and bursts. The person is late, silent, wrong
// or panics. Executors fail before, during and after an execution, definitions and policies change, and
// middlewares of the host misbehave after the approval. Slots are filled at random: rules on arguments,
// replicas, budgets, records on a failing disk, output, views, locks, entities, remembered approvals, and turns
// of a model. A recorder in the fake servers has the calls that were really sent, and computes what must hold
// without the chain.
//
// Every fourth scenario is at the edges of the chain: two clients and one or two servers around the proxy, over
// lines and over HTTP with and without sessions, or around one of the mounts. Both sides read and write bytes.
// Clients leave out the id, repeat members and change their case; servers read them in different ways, redefine
// and remove tools, die, fall silent and redirect. The person is asked by the host, a form of the client or the
// page of the inbox. Records and stores fail and block, and the file of the policy breaks. Four ways of reading
// what a server received must find one call, which was classified, shown, approved and recorded.
//
// [RunSpread] plays two replicas of a host over one engine that is slow, loses requests and answers,
// and is away for a while.
//
//	go -C verify test -v ./sim -seeds 20000
//	go -C verify test -v ./sim -seed=4711     # one scenario, again
//	go -C verify run ./mutants                # is the simulation any good?
//
// The invariants have the names of docs/reference/guarantees.md and verify/mutants/README.md.
//
// All chance is drawn from the seed and the identity of its event, and each event has its own instant.
// Events that are meant for one instant may happen in either order.
package sim

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/batch"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// A scenario is servers, tenants, a host and a person, around one chain of the real packages.
type scenario struct {
	journal

	settings settings
	tools    *catalog.Catalog
	lock     *pins.Lock
	caller   middleware.ToolCaller
	narrow   middleware.ToolCaller // for callers that may not see everything
	replicas map[string]*catalog.Replica
	ledger   *budget.Ledger
	// background counts what the host's own middlewares leave running.
	background sync.WaitGroup

	// The journal's mutex guards what follows, and the records.
	epilogue    bool
	policy      policy
	declared    map[place]int // the revisions of servers, and of replicas that have others; 1 unless there
	listed      map[place]int // the revision last listed, of servers and replicas
	pinned      map[place]pin // the accepted definitions, with a lock
	standing    []standing
	approvals   approvals.Store
	lost        map[effect]*lost // calls with an unknown outcome
	calls       map[string]*record
	order       []*record // by number
	execs       []*exec
	writes      map[string][]string // entities of each write handed over to a server
	writing     map[string][]string // entities of those in flight in the cache
	writeEvents map[string][]time.Time
	buckets     map[bucketKey]*rate.Limiter
	asking      int
}

// An Outcome is how a scenario ended.
type Outcome struct {
	Calls, Executions int
	Violations        []string
	Trace             func() string
}

// Run plays the scenario of a seed in a bubble of its own. Every fourth is at the edges of the chain.
func Run(t *testing.T, seed uint64) Outcome {
	if seed%4 == 3 {
		return runEdges(t, seed)
	}
	w := &scenario{
		journal:     journal{seed: seed},
		policy:      policy{trusted: map[string]bool{trusty: true}, word: map[place]law{}, idempotent: map[place]bool{}},
		declared:    make(map[place]int),
		calls:       make(map[string]*record),
		listed:      make(map[place]int),
		pinned:      make(map[place]pin),
		approvals:   approvals.NewMemory(),
		lost:        make(map[effect]*lost),
		replicas:    make(map[string]*catalog.Replica),
		writes:      make(map[string][]string),
		writing:     make(map[string][]string),
		writeEvents: make(map[string][]time.Time),
		buckets:     make(map[bucketKey]*rate.Limiter),
	}
	w.journal.play(t, w.play)
	return Outcome{len(w.order), len(w.execs), w.violations, func() string { return w.print(w.settings) }}
}

func (w *scenario) play(t *testing.T) {
	w.settings = drawSettings(w.dice(forSettings, 0, 0))
	w.settings.slots = drawSlots(w.dice(forSlots, 0, 0))
	w.build(t)
	for _, r := range w.plan() {
		r.narrow = w.settings.viewed && r.n%2 == 1
		w.enlist(r)
	}
	var running sync.WaitGroup
	for _, turn := range w.turns() {
		later(&running, turn[0].at, func() { w.runTurn(turn) })
	}
	for _, r := range w.order {
		if r.turn == nil {
			later(&running, r.at, func() { w.run(r) })
		}
	}
	w.startChanges(&running)
	running.Wait()
	w.background.Wait()
	time.Sleep(2 * time.Hour) // late answers have come by then
	w.close()
}

func (w *scenario) enlist(r *record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[r.id] = r
	w.order = append(w.order, r)
}

func (w *scenario) build(t *testing.T) {
	w.tools = catalog.New(w.catalogOptions())
	for _, server := range servers {
		if err := w.tools.Add(t.Context(), server, &session{w, server, ""}); err != nil {
			t.Fatal(err)
		}
	}
	w.tools.Trust(trusty)
	err := w.tools.Override(replica, "set_note", annotation.Annotations{Idempotent: annotation.Yes})
	w.policy.idempotent[place{replica, "set_note"}] = true
	if w.settings.hinted {
		err = errors.Join(err, w.tools.Override(liar, "get_note", annotation.Annotations{RateLimitHint: new(hintPerMinute)}))
	}
	if w.settings.required {
		err = errors.Join(err, w.tools.Override(replica, "create_note", annotation.Annotations{AuditRequired: annotation.Yes}))
	}
	if err != nil {
		t.Fatal(err)
	}
	w.accept()
	w.assemble(t)
}

// revise changes what a server declares, or one of its replicas.
func (w *scenario) revise(server, tool string, revision int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.declared[place{server, tool}] = revision
}

// swap changes the host's policy, in the scenario and in the catalog at once.
func (w *scenario) swap(books func(*policy), do func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	books(&w.policy)
	if err := do(); err != nil {
		w.badf("harness", w.order[0], "policy: %v", err)
	}
}

func (w *scenario) override(server, tool string, l law, a annotation.Annotations) {
	w.swap(func(p *policy) { p.word[place{server, tool}] = l }, func() error { return w.tools.Override(server, tool, a) })
}

// close makes a few more calls after everything has come to rest, which nothing may prevent.
func (w *scenario) close() {
	w.mu.Lock()
	w.epilogue = true
	maps.DeleteFunc(w.declared, func(at place, _ int) bool { return weights[at.server] > 0 })
	w.mu.Unlock()
	for _, server := range servers {
		w.refresh(server)
	}
	w.accept()
	for _, server := range servers {
		for _, tool := range []string{"get_note", "get_note", "delete_note"} {
			n := len(w.order)
			r := &record{n: n, id: callID(n), server: server, tool: spec(tool), scope: scopes[0], text: `{"id":"epilogue ` + strconv.Itoa(len(server)) + `"}`}
			r.meaning = distinctMeanings
			w.enlist(r)
			w.ledger.Forget(r.scope)
			w.run(r)
			w.checkRest(r)
		}
	}
}

// An endError is the cause of the end of one call's context.
type endError struct {
	call string
	how  error
}

func (e *endError) Error() string { return e.call + ": " + e.how.Error() }
func (e *endError) Unwrap() error { return e.how }

func (w *scenario) run(r *record) {
	tool, ok := w.tools.Lookup(r.server, r.tool.name)
	if !ok {
		return // its server has dropped it, which the host has seen
	}
	ctx, cancel := w.context(context.Background(), r)
	defer cancel()
	w.begin(r, tool)
	_, _ = w.make(ctx, r, w.call(r, tool))
}

// make makes a call that has begun, and checks what comes back.
func (w *scenario) make(ctx context.Context, r *record, call middleware.Call) (*mcp.CallToolResult, error) {
	returned := false
	defer func() { // the goroutine may end inside the call
		if !returned {
			w.gone(r, recover())
		}
	}()
	caller := w.caller
	if r.narrow {
		caller = w.narrow
	}
	res, err := caller.CallTool(ctx, call)
	returned = true
	w.end(ctx, r, res, err)
	if r.scribbles {
		scribble(r.sent, call.Meta, res)
	}
	return res, err
}

func (w *scenario) context(ctx context.Context, r *record) (context.Context, context.CancelFunc) {
	cancel := context.CancelFunc(func() {})
	if r.timeout > 0 {
		r.deadline = time.Now().Add(r.timeout)
		ctx, cancel = context.WithDeadlineCause(ctx, r.deadline, &endError{r.id, context.DeadlineExceeded})
	}
	if r.cancelAfter == 0 {
		return ctx, cancel
	}
	ctx, stop := context.WithCancelCause(ctx)
	timer := time.AfterFunc(r.cancelAfter, func() {
		w.mu.Lock()
		if r.ended.IsZero() && ctx.Err() == nil {
			r.cancelled = time.Now()
			w.say(r.id, "cancelled", "")
		}
		w.mu.Unlock()
		stop(&endError{r.id, context.Canceled})
	})
	return ctx, func() { timer.Stop(); cancel(); stop(errors.New("over")) }
}

// scribble writes over the caller's buffer, metadata and answer once its call has returned.
func scribble(sent []byte, meta mcp.Meta, res *mcp.CallToolResult) {
	for i := range sent {
		sent[i] = 'Z'
	}
	meta[traceKey] = "scribbled"
	if res == nil {
		return
	}
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			text.Text = "scribbled"
		}
	}
	if m, ok := res.StructuredContent.(map[string]any); ok {
		m["text"] = "scribbled"
		if list, ok := m["list"].([]any); ok {
			list[0] = "scribbled"
		}
	}
	res.IsError = true
}

// arguments by what they mean: the texts of one row mean the same in different bytes.
var arguments = [][]string{
	{`{"id":9007199254740992}`, ` {"id" : 9007199254740992}`},
	{`{"id":9007199254740993}`, `{"\u0069d":9007199254740993}`}, // a float64 cannot hold it
	{`{"a":1,"b":{"d":2,"c":3}}`, `{"b":{"c":3,"d":2},"a":1}`, `{ "b":{"c":3,"d":2}, "a":1 }`},
	{``, `{}`},
	{`{"id":"x"}`},
	{`{"id":"x","mode":"read"}`, `{"mode":"read", "id":"x"}`},
	{`{"id":"x","mode":"purge"}`},
	{`{"id":"x","to":"` + stranger + `"}`}, // only where arguments are traced
}

const ordinary = 7 // the first of arguments, which any scenario uses

// Arguments that have no row.
const (
	ambiguous   = `{"id":1,"id":2}`                // two parsers read them differently; they must never be sent
	edited      = `{"id":"edited"}`                // by an approver
	editedWorse = `{"id":"edited","mode":"purge"}` // by an approver, so that the call needs an approval
	tampered    = `{"id":"tampered"}`              // by a middleware of the host, after the approval
)

type settings struct {
	slots

	nested     nesting
	perMinute  float64
	burst      int
	hinted     bool // liar/get_note declares a limit of 30 calls a minute
	attempts   int
	lifetime   time.Duration
	maxPending int
	remembered bool // declared idempotent writes may be answered from the cache
}

// A nesting is the chains in front of the catalog.
type nesting uint8

const (
	single  nesting = iota
	twoAsk          // a chain that asks around a chain that asks
	guarded         // the same with a guard of the catalog in between
)

const (
	ttl            = 20 * time.Second // of the cache
	attemptTimeout = 8 * time.Second
	askTimeout     = 25 * time.Second
	hintPerMinute  = 30.0
)

// Kinds of dice.
const (
	forSettings = iota
	forPlan
	forFault
	forApprover
	forBackoff
	forHost
	forSlots
	forSink
	forResolver
	forEdges
	forFlow
)

// span draws a duration with a part of nanoseconds, so that no two events share an instant.
func span(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

func drawSettings(r *rand.Rand) settings {
	s := settings{
		attempts:   2 + r.IntN(3),
		lifetime:   5 * time.Minute,
		maxPending: 100,
		hinted:     r.IntN(3) == 0,
		remembered: r.IntN(4) == 0,
		nested:     []nesting{twoAsk, guarded, single, single, single, single}[r.IntN(6)],
	}
	limit := r.IntN(4) // none is the first
	s.perMinute, s.burst = []float64{0, 30, 120, 600}[limit], []int{0, 3, 1, 5}[limit]
	if r.IntN(4) == 0 {
		s.lifetime = span(r, time.Second, 4*time.Second)
	}
	if r.IntN(4) == 0 {
		s.maxPending = 2
	}
	return s
}

// shape is the pattern of the calls of a scenario.
type shape uint8

const (
	mixed     shape = iota
	same            // a burst of one read, identical
	distinct        // a burst of one server, all different
	sameAsked       // a burst of one dangerous call
	around          // one read again and again, with writes to its server in between
	insistent       // one write, again and again
)

func (w *scenario) plan() []*record {
	r := w.dice(forPlan, 0, 0)
	kind := shape(max(0, r.IntN(14)-9)) // mixed, most of the time
	calls := make([]*record, 0, 48)
	for range 10 + r.IntN(22) {
		calls = append(calls, w.draw(r, len(calls), mixed))
	}
	if w.settings.doubted && r.IntN(3) == 0 {
		kind = insistent
	}
	if kind != mixed {
		first := w.draw(r, len(calls), kind)
		if kind == around && w.settings.remembered { // then the writes that may be left out, and not reads
			first.server, first.tool = trusty, spec("set_note")
		}
		meaning := r.IntN(ordinary)
		for range 8 + r.IntN(10) {
			c := w.draw(r, len(calls), kind)
			c.server, c.scope = first.server, first.scope
			if kind != distinct {
				c.tool = first.tool
				c.says(r, meaning)
				c.bad = false
			}
			c.at = first.at + time.Duration(r.IntN(40))*time.Millisecond + time.Duration(c.n)
			if kind == insistent {
				c.at = first.at + span(r, 0, time.Minute)
			}
			if kind == around {
				c.at = first.at + span(r, 0, 15*time.Second)
				if r.IntN(4) == 0 {
					c.tool = toolSpecs[1+r.IntN(2)]
				}
			}
			calls = append(calls, c)
		}
	}
	for _, c := range calls {
		if dice := w.dice(forFlow, uint64(c.n), 0); w.settings.traced && !c.bad && dice.IntN(3) == 0 {
			c.says(dice, ordinary)
		}
	}
	return calls
}

func (w *scenario) draw(r *rand.Rand, n int, kind shape) *record {
	c := &record{n: n, id: callID(n)}
	c.server = servers[r.IntN(len(servers))]
	c.tool = toolSpecs[[...]int{0, 0, 0, 1, 1, 2, 2, 3, 3, 4}[r.IntN(10)]]
	c.scope = scopes[r.IntN(len(scopes))]
	c.at = span(r, 0, 60*time.Second)
	if r.IntN(3) == 0 {
		c.at = span(r, 0, 6*time.Second)
	}
	switch kind {
	case same, around:
		c.tool = spec("get_note")
	case distinct:
		c.tool = toolSpecs[r.IntN(3)]
	case sameAsked:
		c.tool = spec("delete_note")
	case insistent:
		c.tool = spec([]string{"create_note", "delete_note"}[n%2])
	}
	if r.IntN(8) > 0 {
		c.timeout = span(r, time.Second, 50*time.Second)
	}
	if kind == distinct {
		c.timeout = span(r, time.Second, 5*time.Second)
	}
	if r.IntN(4) == 0 || kind == same && r.IntN(2) == 0 {
		c.cancelAfter = span(r, time.Millisecond, 12*time.Second)
	}
	c.bad = r.IntN(60) == 0
	c.scribbles = r.IntN(3) == 0
	c.smears = r.IntN(4) == 0
	if r.IntN(3) == 0 {
		c.rogue = rogues[r.IntN(len(rogues))]
	}
	c.says(r, r.IntN(ordinary))
	switch {
	case c.bad:
		c.text, c.meaning = ambiguous, -1
	case kind == distinct:
		c.text, c.meaning = `{"n":`+callID(n)[1:]+`}`, distinctMeanings+n
	}
	return c
}

// distinctMeanings is where the meanings begin that only one call has.
const distinctMeanings = 1000

// says gives the call arguments of that meaning.
func (r *record) says(dice *rand.Rand, meaning int) {
	texts := arguments[meaning]
	r.meaning, r.text = meaning, texts[dice.IntN(len(texts))]
}

// startChanges draws and starts rug pulls, acceptances and swaps of the host's policy.
func (w *scenario) startChanges(group *sync.WaitGroup) {
	r := w.dice(forPlan, 1, 0)
	start := func(at time.Duration, text string, do func()) {
		later(group, at, func() {
			w.say("**", text, "")
			do()
		})
	}
	for range r.IntN(4) {
		server, tool := servers[r.IntN(len(servers))], toolSpecs[r.IntN(len(toolSpecs))]
		revision := r.IntN(lastRevision + 1)
		at := span(r, 0, 50*time.Second)
		start(at, "rug pull of "+server+"/"+tool.name, func() { w.revise(server, tool.name, revision) })
		if r.IntN(3) > 0 {
			at += span(r, 0, 8*time.Second)
			start(at, "listed "+server, func() { w.refresh(server) })
		}
		if w.settings.locked && r.IntN(2) == 0 {
			start(at+span(r, 0, 8*time.Second), "accepted", w.accept)
		}
		if w.settings.pooled && r.IntN(2) == 0 {
			id := []string{first, losesAnswers, second}[r.IntN(3)]
			start(at+span(r, 0, 8*time.Second), "replica "+id+" of another version", func() {
				w.revise(id, tool.name, revision)
				w.refresh(trusty)
			})
		}
	}
	for _, c := range w.order {
		if c.rogue == freshens && c.tool.byName == asks { // as one does where definitions change
			at := c.at + span(r, 0, 6*time.Second)
			start(at, "rug pull of "+c.server+"/"+c.tool.name, func() {
				w.revise(c.server, c.tool.name, 2)
				w.refresh(c.server)
			})
		}
	}
	if r.IntN(3) == 0 {
		swap := swaps[r.IntN(len(swaps))]
		start(span(r, 0, 50*time.Second), swap.text, func() { swap.do(w) })
	}
}

// swaps are the changes of policy that a host may make while it runs.
var swaps = []struct {
	text string
	do   func(w *scenario)
}{
	{text: "trust " + replica, do: func(w *scenario) {
		w.swap(func(p *policy) { p.trusted[replica] = true }, func() error { w.tools.Trust(replica); return nil })
	}},
	{text: "ask before " + trusty + "/get_note", do: func(w *scenario) {
		w.override(trusty, "get_note", asks, annotation.Annotations{RequiresConfirmation: annotation.Yes})
	}},
	{text: liar + "/frobnicate reads", do: func(w *scenario) { w.override(liar, "frobnicate", reads, annotation.ReadOnly()) }},
	{text: replica + "/delete_note only adds", do: func(w *scenario) { w.override(replica, "delete_note", writes, annotation.Write()) }},
	{text: liar + "/create_note destroys", do: func(w *scenario) { w.override(liar, "create_note", asks, annotation.Destructive()) }},
	{text: liar + "/* are updates", do: func(w *scenario) {
		w.swap(func(p *policy) { p.rule = true }, func() error {
			_, err := w.tools.OverrideMatching(liar+"/*", annotation.Update())
			return err
		})
	}},
}

// turns takes some calls together, as a model asks for them in one turn.
func (w *scenario) turns() [][]*record {
	r := w.dice(forPlan, 2, 0)
	if r.IntN(2) == 0 {
		return nil
	}
	var all [][]*record
	for range 1 + r.IntN(3) {
		from, many := r.IntN(len(w.order)), 2+r.IntN(8)
		var turn []*record
		for _, c := range w.order[from:min(from+many, len(w.order))] {
			if c.turn == nil {
				turn = append(turn, c)
			}
		}
		for _, c := range turn {
			c.turn = turn
			if r.IntN(2) == 0 {
				c.server = turn[0].server
			}
		}
		if len(turn) > 0 {
			all = append(all, turn)
		}
	}
	return all
}

func (w *scenario) runTurn(turn []*record) {
	var calls []middleware.Call
	for _, r := range turn {
		tool, ok := w.tools.Lookup(r.server, r.tool.name)
		if !ok {
			continue
		}
		w.begin(r, tool)
		calls = append(calls, w.call(r, tool))
	}
	o := batch.Options{Parallel: 1 + w.dice(forPlan, 3, uint64(turn[0].n)).IntN(16)}
	for i, out := range o.Run(context.Background(), booked{w}, calls) {
		if r := w.find(calls[i].ID); out.Call.ID != r.id || (out.Result == nil) == (out.Err == nil) {
			w.badf("I26", r, "the batch returned %v and %v of %s in its place", out.Result, out.Err, out.Call.ID)
		}
	}
}

// booked is the chain as a batch sees it, with a record kept of each call.
type booked struct{ w *scenario }

func (b booked) Describe() middleware.Description {
	return middleware.Description{Next: b.w.caller}
}

func (b booked) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	r := b.w.find(call.ID)
	ctx, cancel := b.w.context(ctx, r)
	defer cancel()
	return b.w.make(ctx, r, call)
}

// checkTurn checks when a call goes on that nothing before it in its turn and at its server is in
// flight that may matter. The caller holds the mutex.
func (w *scenario) checkTurn(r *record) {
	if !r.ended.IsZero() {
		return // a middleware of the host left it running
	}
	for _, before := range r.turn {
		if before == r {
			return
		}
		if before.server == r.server && !before.begun.IsZero() && before.ended.IsZero() && (before.matters() || r.matters()) {
			w.badf("I26", r, "went on while %v, which %v and precedes it in its turn, was in flight", before, before.law)
		}
	}
}

// matters reports whether the call may change something. With a class that the host has forged it
// keeps that place, and the guard stops it.
func (r *record) matters() bool { return r.law != reads && (r.law != asks || r.rogue != kinder) }

// hasItsTurn reports whether the call may have waited for others of its turn.
func (r *record) hasItsTurn() bool {
	return slices.ContainsFunc(r.turn, func(o *record) bool {
		return o != r && !o.begun.IsZero() && (o.ended.IsZero() || !o.ended.Before(r.ended))
	})
}

// ConfirmGroup is the approver for several questions at once. It answers those that the person would
// answer, in no order, when all are decided.
func (w *scenario) ConfirmGroup(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
	type asked struct {
		r       *record
		how     manner
		request hitl.Request
	}
	var all []asked
	var last time.Duration
	for _, request := range requests {
		r, how, wait := w.question(request)
		defer w.answered()
		all, last = append(all, asked{r, how, request}), max(last, wait)
	}
	if err := world.Wait(ctx, last); err != nil {
		return nil, err
	}
	said := map[string]hitl.Decision{"of nobody": {Verdict: hitl.Approved}}
	for _, a := range slices.Backward(all) {
		switch a.how {
		case approves, denies, zero, odd, edits, editsBadly, scrawls:
			own, cancel := context.WithDeadline(ctx, a.request.Deadline)
			decision, err := w.answer(own, a.r, a.how, a.request)
			cancel()
			if err == nil {
				said[a.request.ID] = decision
			}
		default: // the answer omits it
		}
	}
	return said, nil
}

func (w *scenario) call(r *record, tool *middleware.Tool) middleware.Call {
	r.sent = []byte(r.text)
	call := middleware.Call{ID: r.id, Scope: r.scope, Tool: tool, Arguments: json.RawMessage(r.sent), Meta: mcp.Meta{traceKey: r.id}}
	if r.text == "" {
		call.Arguments = nil
	}
	return call
}
