package sim

// Which slots of the chain a scenario fills, and with what, and how the chain is put together.

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
)

// slots are those of a chain that may be empty, and which of them are filled in a scenario.
type slots struct {
	judged   bool // the arguments decide the class
	careful  bool // writes are asked about too
	standing bool // an approval may be remembered
	pooled   bool // trusty has replicas
	limit    int  // calls of a session, 0 for as many as it likes
	audited  bool
	required bool // replica/create_note must be recorded
	shown    bool // package output is in the chain
	viewed   bool // every other caller may not see everything
	locked   bool // definitions must be accepted
	entities bool // the arguments of trusty's tools name entities
	doubted  bool // a call that may have happened is held
	traced   bool // the sources of arguments are known
	endorses bool // and what a person approves of them stays approved
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
	s.doubted, s.traced = one(2), one(4)
	s.endorses = s.traced && one(2)
	return s
}

// The replicas of trusty. Two of them are primaries.
const (
	first, losesAnswers, second = "a", "b", "c"
	shownLimit                  = 1000
)

var weights = map[string]int{first: 60, losesAnswers: 10, second: 50}

// assemble puts the chains in front of the catalog: one for callers that may see everything, and one
// for those that may not. They share all that can be shared.
func (w *scenario) assemble(t *testing.T) {
	s := w.settings
	asking := hitl.Options{Timeout: askTimeout, Lifetime: s.lifetime, MaxPending: s.maxPending, Writes: s.careful}
	if s.standing {
		asking.Remember, asking.OfferMembers, asking.Store = hitl.Session, true, w.approvals
	}
	jitter := func() float64 { return w.dice(forBackoff, uint64(w.now()), 0).Float64() } // of the instant, so that a replay draws the same
	outer, inner := chain.Standard{}, chain.Standard{
		Outermost:  []middleware.Middleware{wrap(w.outermost)},
		Infer:      infer.New(infer.Options{}),
		PerCall:    []middleware.Middleware{wrap(w.perCall), wrap(w.atCache)},
		Cache:      cache.New(w.memory()),
		Retry:      retry.New(retry.Options{Attempts: s.attempts, First: 500 * time.Millisecond, Rand: jitter}),
		RateLimit:  ratelimit.New(ratelimit.Options{PerMinute: s.perMinute, Burst: s.burst}),
		PerAttempt: []middleware.Middleware{wrap(w.atLimit), wrap(w.perAttempt), wrap(w.atExecutor)},
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
	if s.traced {
		outermost.Flow = w.tracing(t)
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
	if s.doubted {
		outermost.Doubt = doubt.New(doubt.Options{})
	}
	if s.shown {
		outermost.Output = output.New(output.Options{Limit: shownLimit})
		outermost.Output = chain.New(outermost.Output, wrap(w.atEdge)).Then
	}
	w.alike.join(outermost, &inner)
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
	o := cache.Options{TTL: ttl, Store: cache.NewStore(cache.StoreOptions{Entries: 8000}), Idempotent: w.settings.remembered}
	if w.settings.entities {
		o.Entities = make(map[string][]string)
		for _, tool := range naming {
			o.Entities[trusty+"/"+tool] = []string{"id"}
		}
	}
	return o
}

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
			byClass := map[annotation.Safety]string{annotation.Safe: ".read", annotation.Moderate: ".write"}
			return tool.Server + cmp.Or(byClass[tool.Safety()], ".danger")
		}
	}
	if w.settings.locked {
		w.lock = new(pins.Lock)
		o.Lock = w.lock
	}
	return o
}

// sees reports whether the scopes of the caller cover the call, worked out by hand.
func (r *record) sees(server string, l law) bool {
	return !r.narrow || server == replica || server == liar && l == reads
}

// refresh lists the tools of a server and its replicas again, which accepts them without a lock.
func (w *scenario) refresh(server string) {
	err := w.tools.Refresh(context.Background(), server)
	if server == trusty {
		for _, r := range w.replicas {
			err = errors.Join(err, r.Refresh(context.Background()))
		}
	}
	if err != nil {
		w.badf("harness", server, "refresh: %v", err)
	}
}

func (w *scenario) accept() {
	if !w.settings.locked {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.lock.Accept(w.tools, w.lock.Changes(w.tools)...); err != nil {
		w.badf("harness", "the lock", "%v", err)
	}
	for _, server := range servers {
		for _, t := range toolSpecs {
			at := place{server, t.name}
			w.pinned[at] = pin{w.listed[at], w.policy.law(server, t, w.listed[at])}
		}
	}
}
