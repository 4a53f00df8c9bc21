package sim

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// A scenario is servers, tenants, a host and a person, around one chain of the real packages.
type scenario struct {
	journal

	settings settings
	alike    *alike // with whom it is compared; nil for an ordinary scenario
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
	endorsed    map[string]int // which of strange, by the ID of the endorsement
	correct     func()         // changes the mail that has them
	approvals   approvals.Store
	lost        map[effect]*lost // calls with an unknown outcome
	calls       map[string]*record
	order       []*record // by number
	execs       []*exec
	writes      map[string][]string // entities of each write handed over to a server
	writing     map[string][]string // entities of those in flight in the cache
	writeEvents map[string][]time.Time
	pauses      map[place]time.Time // until when a tool's calls may be held, since its server asked for it
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
	w := newScenario(seed)
	w.journal.play(t, w.play)
	return Outcome{len(w.order), len(w.execs), w.violations, func() string { return w.print(w.settings) }}
}

func newScenario(seed uint64) *scenario {
	return &scenario{
		journal:     journal{seed: seed},
		policy:      policy{trusted: map[string]bool{trusty: true}, word: map[place]law{}, idempotent: map[place]bool{}},
		declared:    make(map[place]int),
		calls:       make(map[string]*record),
		listed:      make(map[place]int),
		pinned:      make(map[place]pin),
		approvals:   approvals.NewMemory(),
		endorsed:    make(map[string]int),
		lost:        make(map[effect]*lost),
		replicas:    make(map[string]*catalog.Replica),
		writes:      make(map[string][]string),
		writing:     make(map[string][]string),
		writeEvents: make(map[string][]time.Time),
		pauses:      make(map[place]time.Time),
		buckets:     make(map[bucketKey]*rate.Limiter),
	}
}

func (w *scenario) play(t *testing.T) {
	w.settings = drawSettings(w.dice(forSettings, 0, 0))
	w.settings.slots = drawSlots(w.dice(forSlots, 0, 0))
	if w.alike != nil {
		w.settings.required, w.settings.audited = false, w.alike.with == trail
	}
	w.build(t)
	for _, r := range w.plan() {
		r.narrow = w.settings.viewed && r.n%2 == 1
		if w.alike != nil && (r.rogue == skips || r.rogue == lingers) { // a trail has an end, after which nothing comes
			r.rogue = honest
		}
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
	w.alike.came(r, res, err)
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
