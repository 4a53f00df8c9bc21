package sim

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
)

// slots are those of a chain that may be empty, and what of them is filled in a
// scenario.
type slots struct {
	judged   bool // the arguments decide the class
	careful  bool // writes are asked about too
	standing bool // a yes may be remembered
	pooled   bool // trusty has replicas
	limit    int  // calls of a session, 0 for as many as it likes
	audited  bool
	required bool // replica/create_note must be recorded
	shown    bool // answers are made presentable
	viewed   bool // every other caller may not see everything
	locked   bool // definitions must be accepted
	entities bool // the arguments of trusty's tools name what they are about
}

func drawSlots(r *rand.Rand) slots {
	one := func(in int) bool { return r.IntN(in) == 0 }
	s := slots{
		judged: one(2), careful: one(6), standing: one(5), pooled: one(3), audited: one(2), required: one(4),
		shown: one(3), viewed: one(3), locked: one(4), entities: one(3),
	}
	if one(4) {
		s.limit = 3 + r.IntN(8)
	}
	return s
}

// The replicas of trusty. Two of them are primaries.
const (
	first, losesAnswers, second = "a", "b", "c"
	shownLimit                  = 1000
)

var weights = map[string]int{first: 60, losesAnswers: 10, second: 50}

// assemble hangs the chains in front of the catalogue: one for those who may see
// everything, and one for those who may not. They share all that can be shared.
func (w *scenario) assemble(t *testing.T) {
	s := w.settings
	asking := hitl.Options{Timeout: askTimeout, Lifetime: s.lifetime, MaxPending: s.maxPending, Writes: s.careful}
	if s.standing {
		asking.Remember = hitl.Session
	}
	outer, inner := chain.Standard{}, chain.Standard{
		Outermost:  []middleware.Middleware{w.outermost},
		Infer:      infer.New(infer.Options{}),
		PerCall:    []middleware.Middleware{w.perCall, w.atCache},
		Cache:      cache.New(w.memory()),
		Retry:      retry.New(retry.Options{Attempts: s.attempts, First: 500 * time.Millisecond, Rand: w.jitter}),
		RateLimit:  ratelimit.New(ratelimit.Options{PerMinute: s.perMinute, Burst: s.burst}),
		PerAttempt: []middleware.Middleware{w.atLimit, w.perAttempt, w.atExecutor},
		Timeout:    timeout.New(timeout.Options{Default: attemptTimeout}),
	}
	outermost := &outer
	if s.nested == single {
		outermost = &inner
	}
	if s.judged {
		judge := preflight.New(preflight.Options{Rules: rules, Resolver: w, Trusted: w.trusts})
		outer.Preflight, inner.Preflight = judge, judge
	}
	ask := hitl.New(w, asking)
	outer.Confirm, inner.Confirm = ask, ask
	if s.pooled {
		inner.Route = w.pool(t)
	}
	w.ledger = budget.NewLedger(0)
	if s.limit > 0 {
		inner.Budget = budget.New(budget.Options{Session: budget.Limit{Calls: s.limit}, Ledger: w.ledger})
	}
	if s.audited {
		trail := audit.New(w, audit.Options{})
		if s.nested == single {
			inner.Audit = trail
		} else { // one trail over two chains
			outermost.Telemetry, inner.PerCall = trail.Record, append(inner.PerCall, trail.Intent)
		}
	}
	if s.shown {
		outermost.Output = output.New(output.Options{Limit: shownLimit})
		outermost.Outermost = append([]middleware.Middleware{}, outermost.Outermost...)
		outermost.Output = chain.New(outermost.Output, w.atEdge).Then
	}
	w.caller = w.nest(outer, inner, w.tools)
	w.narrow = w.caller
	if s.viewed {
		view, err := w.tools.View(catalog.Scope{Permission: replica + ".*"}, catalog.Scope{Permission: liar + ".read"})
		if err != nil {
			t.Fatal(err)
		}
		w.narrow = w.nest(outer, inner, view)
	}
}

// guarding is a catalogue, or a view of one.
type guarding interface {
	middleware.ToolCaller
	chain.Admitter

	Guard(executor middleware.ToolCaller) middleware.ToolCaller
}

func (w *scenario) nest(outer, inner chain.Standard, executor guarding) middleware.ToolCaller {
	outer.Infer = executor.Admit // by hand, since the executor of the outer chain is a chain
	switch w.settings.nested {
	case twoAsk:
		return outer.Then(inner.Then(executor))
	case guarded:
		return outer.Then(executor.Guard(inner.Then(executor)))
	}
	return inner.Then(executor)
}

func (w *scenario) memory() cache.Options {
	o := cache.Options{TTL: ttl, Store: cache.NewStore(cache.StoreOptions{})}
	if w.settings.remembered {
		o.Idempotent = true
	}
	if w.settings.entities {
		o.Entities = make(map[string][]string)
		for _, tool := range naming {
			o.Entities[trusty+"/"+tool] = []string{"id"}
		}
	}
	return o
}

// pool gives trusty its replicas.
func (w *scenario) pool(t *testing.T) middleware.Middleware {
	var all []route.Replica
	for _, id := range []string{first, losesAnswers, second} {
		r, err := w.tools.Replica(t.Context(), trusty, id, &session{w, trusty, id})
		if err != nil {
			t.Fatal(err)
		}
		w.replicas[id] = r
		all = append(all, route.Replica{ID: id, Caller: r, Weight: weights[id]})
	}
	strategy := route.Strategy(w.dice(forSlots, 1, 0).IntN(int(route.Affinity) + 1))
	return route.New(route.Options{}, route.NewPool(trusty, strategy, all...))
}

func (w *scenario) catalogOptions() catalog.Options {
	var o catalog.Options
	if w.settings.viewed {
		o.Permission = func(tool *middleware.Tool) string {
			switch tool.Safety() {
			case annotation.Safe:
				return tool.Server + ".read"
			case annotation.Moderate:
				return tool.Server + ".write"
			}
			return tool.Server + ".danger"
		}
	}
	if w.settings.locked {
		w.lock = new(pins.Lock)
		o.Lock = w.lock
	}
	return o
}

// sees reports whether a call may be made by its caller's scopes, worked out by
// hand.
func (r *record) sees(server string, l law) bool {
	return !r.narrow || server == replica || server == liar && l == reads
}

// refresh lists a server's tools again, and those of its replicas. Without a lock
// they are accepted with that.
func (w *scenario) refresh(server string) {
	err := w.tools.Refresh(context.Background(), server)
	if server == trusty {
		for _, r := range w.replicas {
			if err == nil {
				err = r.Refresh(context.Background())
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.badf("harness", w.order[0], "refresh: %v", err)
	}
}

// accept accepts all that is listed.
func (w *scenario) accept() {
	if !w.settings.locked {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.lock.Accept(w.tools, w.lock.Changes(w.tools)...); err != nil {
		w.violations = append(w.violations, "harness: "+err.Error())
	}
	for _, server := range servers {
		for i := range toolSpecs {
			at := place{server, toolSpecs[i].name}
			w.pinned[at] = pin{w.listed[at], w.policy.law(server, &toolSpecs[i], w.listed[at])}
		}
	}
}
