package chain

import (
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/conditions"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
)

// Standard is the chain in its argued order, with one slot for each middleware. An empty slot is left out:
//
//	Outermost → Output → Telemetry → Audit (record) → recover → Infer → Budget → Preflight →
//	admission → Flow → Doubt → Confirm → PerCall → Audit (intent) → Cache → Retry → RateLimit → PerAttempt → Timeout → Route → executor
//
// Only Output turns errors into results and truncates them, so the cache holds whole results and records see
// errors as errors. A person is asked once, about the class that these arguments have, outside the cache and
// retries. A cached result costs no token of the rate limit; every attempt pays for its own, has its own
// time limit, and may go to another replica. Without Confirm, the guard at the executor refuses dangerous
// calls. A call that the executor would refuse is refused at admission. The calls of one batch (package
// batch) are kept in their order behind Confirm. A panic further in than recover becomes an error there.
type Standard struct {
	// Outermost middlewares see every call and its final result, as the model will see it.
	Outermost []middleware.Middleware
	// Output turns errors into results and truncates what is too long (output.New).
	Output middleware.Middleware
	// Telemetry measures the whole call (contrib/otel).
	Telemetry middleware.Middleware
	// Audit records each call, before it is made and when it has ended (audit.New).
	Audit Auditor
	// Infer classifies tools that no catalog has classified (infer.New).
	Infer middleware.Middleware
	// Budget bounds what a session may use, and ends loops (budget.New).
	Budget middleware.Middleware
	// Preflight classifies the call by its arguments, also those that a person edits (preflight.New). Nil applies the
	// conditions that are known of a tool, as preflight.New does without settings.
	Preflight middleware.Middleware
	// Flow traces where arguments came from, and asks about those of untrusted results (flow.New).
	Flow middleware.Middleware
	// Doubt holds the repetition of a call that may have happened (doubt.New).
	Doubt middleware.Middleware
	// Confirm asks a person (hitl.New).
	Confirm middleware.Middleware
	// PerCall middlewares see what was approved, before the cache is looked up.
	PerCall []middleware.Middleware
	// Cache keeps the results of reads (cache.New).
	Cache middleware.Middleware
	// Retry repeats what failed (retry.New).
	Retry middleware.Middleware
	// RateLimit waits for a token, or refuses (ratelimit.New).
	RateLimit middleware.Middleware
	// PerAttempt middlewares see each attempt, once it may be sent.
	PerAttempt []middleware.Middleware
	// Timeout bounds each attempt (timeout.New).
	Timeout middleware.Middleware
	// Route chooses among the replicas of a server (package route).
	Route middleware.Middleware

	// Observe, if it is set, leaves out Output, Budget, Doubt, Cache, Retry, RateLimit and Timeout, and has the place
	// of Confirm: each call is sent once and as it came, without a question. The record of the call has what Observe
	// returns, which is what the chain would have done with a call of this tool (see [Standard.Describe]). Use it to
	// look at calls before rules are made for them; it protects from nothing. Nil observes nothing.
	Observe func(tool *middleware.Tool) string

	admit middleware.Middleware // the executor's own, nil if it has none
}

// An Auditor has the two middlewares of an audit trail; audit.New returns one.
type Auditor interface {
	Record(next middleware.ToolCaller) middleware.ToolCaller // what came of each call
	Intent(next middleware.ToolCaller) middleware.ToolCaller // what is about to be done
}

// An Admitter is an executor that can refuse a call early. Admit is a middleware that passes what the executor
// would not refuse; [Standard] puts it in front of Confirm. The executor itself checks again.
type Admitter interface {
	Admit(next middleware.ToolCaller) middleware.ToolCaller
}

// links returns the middlewares of the slots that are not empty, outermost first.
func (s *Standard) links() []middleware.Middleware {
	var links []middleware.Middleware
	for _, slot := range slots {
		for _, link := range slot.in(s) {
			if link != nil {
				links = append(links, link)
			}
		}
	}
	return links
}

// Then puts the chain in front of an executor: a catalog, one of package mount's, or one of the host's own,
// which gets a [Guard] unless it describes itself as guarded ([middleware.Description]). Call it once and keep
// the result, which is safe for concurrent use. An [Admitter], such as a catalog, is asked at admission.
func (s Standard) Then(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("chain: Then was given a nil executor")
	}
	if _, read := executor.(*reader); read || guarded(executor) {
		return s.before(executor)
	}
	return s.before(Guard(executor))
}

// before puts the chain in front of next, which is guarded or becomes so.
func (s Standard) before(next middleware.ToolCaller) middleware.ToolCaller {
	if s.Observe != nil {
		s.Confirm = s.observe
		s.Output, s.Budget, s.Doubt, s.Cache, s.Retry, s.RateLimit, s.Timeout = nil, nil, nil, nil, nil, nil, nil
	}
	if a, ok := next.(Admitter); ok {
		s.admit = a.Admit
	}
	e := &entry{kind: turn.Kind, guards: guarded(next)}
	if s.Preflight != nil {
		e.chain.Judge = callstate.JudgeBy(s.Preflight)
	}
	return assemble(s.links(), next, e)
}

// Middleware returns the chain as a middleware, for an executor that is guarded, or as a part of a longer chain.
func (s Standard) Middleware() middleware.Middleware { return s.before }

// preflight returns what classifies calls by their arguments.
func (s *Standard) preflight() middleware.Middleware {
	if s.Preflight != nil {
		return s.Preflight
	}
	return conditions.New
}

// gate returns what keeps the calls of a batch in their order, nil if Confirm does it.
func (s *Standard) gate() middleware.Middleware {
	if s.Confirm != nil && turn.Gated(s.Confirm(nowhere)) {
		return nil
	}
	return turn.Gate()
}

// audit returns one of the middlewares of the trail.
func (s *Standard) audit(which func(Auditor, middleware.ToolCaller) middleware.ToolCaller) list {
	if s.Audit == nil {
		return nil
	}
	return one(func(next middleware.ToolCaller) middleware.ToolCaller { return which(s.Audit, next) })
}
