package chain

import (
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
)

// The kinds by which an order is judged (see [middleware.Description]).
const (
	kindOutput    = "output"
	kindRecord    = "record"
	kindRecover   = "recover"
	kindInfer     = "infer"
	kindBudget    = "budget"
	kindPreflight = "preflight"
	kindConfirm   = "hitl"
	kindIntent    = "intent"
	kindCache     = "cache"
	kindRetry     = "retry"
	kindRateLimit = "ratelimit"
	kindTimeout   = "timeout"
	kindRoute     = "route"
	kindGuard     = "guard"
)

// A slot is one place of [Standard]. The order of the slots is the order of the chain.
type slot struct {
	name string // as the documentation of Standard has it
	kind string // of what belongs there, "" if that may be anything
	in   func(s *Standard) []middleware.Middleware
	// before says what breaks if a kind further in stands outside.
	before []breach
	// twice says what breaks if the kind is there more than once.
	twice breach
}

// A breach says what an order breaks.
type breach struct {
	kind    string // the other one's, "" for the slot's own
	breaks  string
	warning bool // it costs questions, tokens or time, and nothing worse can come of it
}

// one returns the content of a slot for one middleware.
func one(m middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{m} }

// slots are the places of Standard, outermost first. Assembly, [Verify] and the
// documented order follow from it.
var slots = []slot{
	{name: "Outermost", in: func(s *Standard) []middleware.Middleware { return s.Outermost }},
	{
		name: "Output", kind: kindOutput, in: func(s *Standard) []middleware.Middleware { return one(s.Output) },
		before: []breach{
			{kindRecord, "a failure is recorded as a result, and a result as it was truncated", false},
			{kindConfirm, "a denial reaches the model as a failure of the host", false},
			{kindCache, "what is cached was truncated for one model", false},
			{kindRetry, "a failure is a result before it can be repeated", false},
		},
	},
	{name: "Telemetry", in: func(s *Standard) []middleware.Middleware { return one(s.Telemetry) }},
	{
		name: "Audit (record)", kind: kindRecord, in: func(s *Standard) []middleware.Middleware { return s.audit(Auditor.Record) },
		before: []breach{
			{kindRecover, "a panic is not recorded", false},
			{kindConfirm, "what a person denies is not recorded", false},
			{kindIntent, "the end of what was begun is not recorded", false},
		},
		twice: breach{breaks: "each call is recorded twice"},
	},
	{
		name: "recover", kind: kindRecover, in: func(*Standard) []middleware.Middleware { return one(Recover()) },
	},
	{
		name: "Infer", kind: kindInfer, in: func(s *Standard) []middleware.Middleware { return one(s.Infer) },
		before: []breach{
			{kindConfirm, "a person is asked about every tool, since nothing has classified it yet", false},
			{kindCache, "no read is cached, and each counts as a write, since nothing has classified it yet", false},
			{kindRetry, "no read is retried, since nothing has classified it yet", false},
			{kindPreflight, "the arguments of a tool are judged before anything has classified the tool", false},
		},
	},
	{
		name: "Budget", kind: kindBudget, in: func(s *Standard) []middleware.Middleware { return one(s.Budget) },
		before: []breach{
			{kindConfirm, "a person is asked about a call that the budget then stops", true},
			{kindCache, "a loop that the cache answers goes on", true},
			{kindRetry, "each attempt counts as a call", true},
		},
		twice: breach{breaks: "each call is counted twice", warning: true},
	},
	{
		name: "Preflight", kind: kindPreflight, in: func(s *Standard) []middleware.Middleware { return one(s.Preflight) },
		before: []breach{
			{kindConfirm, "a person is asked about the tool and not about these arguments", false},
			{kindCache, "the cache does not know what the arguments make of the call", false},
			{kindRetry, "the arguments are judged again for each attempt", true},
		},
	},
	{name: "admission", kind: "admit", in: func(s *Standard) []middleware.Middleware { return one(s.admit) }},
	{
		name: "Confirm", kind: kindConfirm, in: func(s *Standard) []middleware.Middleware { return one(s.Confirm) },
		before: []breach{
			{kindCache, "nobody is asked about what the cache answers, and while a person thinks nothing of that server is cached", false},
			{kindRetry, "a person is asked again for each attempt", false},
			{kindIntent, "what nobody has approved yet is recorded as begun", true},
			{kindRateLimit, "a token of the rate limit is taken before a person has approved, and for what is denied as well", true},
			{kindTimeout, "the time in which a person thinks counts as the server's", true},
		},
		twice: breach{breaks: "what is said to one, the other does not know"},
	},
	{name: "batch", in: func(s *Standard) []middleware.Middleware { return one(s.gate()) }},
	{name: "PerCall", in: func(s *Standard) []middleware.Middleware { return s.PerCall }},
	{
		name: "Audit (intent)", kind: kindIntent, in: func(s *Standard) []middleware.Middleware { return s.audit(Auditor.Intent) },
		before: []breach{
			{kindCache, "what the cache does with a call is not recorded before it", false},
			{kindRetry, "each attempt is recorded as a call of its own", false},
		},
		twice: breach{breaks: "each call is begun twice"},
	},
	{
		name: "Cache", kind: kindCache, in: func(s *Standard) []middleware.Middleware { return one(s.Cache) },
		before: []breach{
			{kindRetry, "each attempt goes through the cache again, and callers that wait for the call of another get its failure as often as that is retried", true},
			{kindRateLimit, "a cached result costs a token of the rate limit", true},
		},
		twice: breach{breaks: "the inner one is asked for what the outer one has dropped on purpose"},
	},
	{
		name: "Retry", kind: kindRetry, in: func(s *Standard) []middleware.Middleware { return one(s.Retry) },
		before: []breach{
			{kindRoute, "no attempt goes to another replica than the first", true},
			{kindRateLimit, "attempts after the first are sent without a token of the rate limit", false},
			{kindTimeout, "all attempts share the time of one", true},
		},
		twice: breach{breaks: "the attempts of the two multiply"},
	},
	{
		name: "RateLimit", kind: kindRateLimit, in: func(s *Standard) []middleware.Middleware { return one(s.RateLimit) },
		before: []breach{
			{kindRoute, "a replica is chosen before there is a token of the rate limit", true},
			{kindTimeout, "the wait for a token of the rate limit counts as the server's time", true},
		},
		twice: breach{breaks: "each attempt costs two tokens of the rate limit", warning: true},
	},
	{name: "PerAttempt", in: func(s *Standard) []middleware.Middleware { return s.PerAttempt }},
	{
		name: "Timeout", kind: kindTimeout, in: func(s *Standard) []middleware.Middleware { return one(s.Timeout) },
		before: []breach{{kindRoute, "choosing a replica and its failures are outside the time limit", true}},
	},
	{name: "Route", kind: kindRoute, in: func(s *Standard) []middleware.Middleware { return one(s.Route) }},
}

// gate returns what keeps the calls of a batch in order, nil if Confirm does it.
func (s *Standard) gate() middleware.Middleware {
	if s.Confirm != nil && turn.Gated(s.Confirm(nowhere)) {
		return nil
	}
	return turn.Gate()
}

// audit returns one of the two middlewares of the audit trail.
func (s *Standard) audit(which func(Auditor, middleware.ToolCaller) middleware.ToolCaller) []middleware.Middleware {
	if s.Audit == nil {
		return nil
	}
	return one(func(next middleware.ToolCaller) middleware.ToolCaller { return which(s.Audit, next) })
}

// pairs says which kind is of no use without which other.
var pairs = []struct{ one, other, breaks string }{
	{kindRecord, kindIntent, "a call leaves no trace if the process ends in its middle, and what must be recorded is refused"},
	{kindIntent, kindRecord, "the end of what was begun is never recorded, so what must be recorded is refused"},
}
