package chain

import "github.com/fairlead-go/fairlead/middleware"

// A slot is one place of [Standard]. The order of the slots is the order of the chain.
type slot struct {
	name string // as the documentation of Standard has it
	kind string // of what belongs there (see [middleware.Description]), "" if that may be anything
	in   func(s *Standard) list
	// breaks lists what breaks if a kind further in is outside of it, or its own kind is there twice.
	breaks []breach
}

type list = []middleware.Middleware

// A breach is what breaks if a middleware of a kind, which belongs further in, is outside.
type breach struct {
	kind    string
	breaks  string
	warning bool // as in Problem
}

func one(m middleware.Middleware) list { return list{m} }

// slots are the places of Standard, outermost first, from which assembly, [Verify] and the documented order follow.
var slots = []slot{
	{name: "Outermost", in: func(s *Standard) list { return s.Outermost }},
	{name: "Output", kind: "output", in: func(s *Standard) list { return one(s.Output) }, breaks: []breach{
		{"record", "a failure is recorded as a result, and a result as it was truncated", false},
		{"hitl", "a denial reaches the model as a failure of the host", false},
		{"cache", "what is cached was truncated for one model", false},
		{"retry", "a failure is a result before it can be repeated", false},
	}},
	{name: "Telemetry", in: func(s *Standard) list { return one(s.Telemetry) }},
	{name: "Audit (record)", kind: "record", in: func(s *Standard) list { return s.audit(Auditor.Record) }, breaks: []breach{
		{"recover", "a panic is not recorded", false},
		{"hitl", "what a person denies is not recorded", false},
		{"intent", "the end of what was begun is not recorded", false},
		{"record", "each call is recorded twice", false}, // twice
	}},
	{name: "recover", kind: "recover", in: func(*Standard) list { return one(Recover()) }},
	{name: "Infer", kind: "infer", in: func(s *Standard) list { return one(s.Infer) }, breaks: []breach{
		{"hitl", "a person is asked about every tool, since nothing has classified it yet", false},
		{"cache", "no read is cached, and each counts as a write, since nothing has classified it yet", false},
		{"retry", "no read is retried, since nothing has classified it yet", false},
		{"preflight", "the arguments of a tool are judged before anything has classified the tool", false},
	}},
	{name: "Budget", kind: "budget", in: func(s *Standard) list { return one(s.Budget) }, breaks: []breach{
		{"hitl", "a person is asked about a call that the budget then stops", true},
		{"cache", "a loop that the cache answers goes on", true},
		{"retry", "each attempt counts as a call", true},
		{"budget", "each call is counted twice", true}, // twice
	}},
	{name: "Preflight", kind: "preflight", in: func(s *Standard) list { return one(s.preflight()) }, breaks: []breach{
		{"hitl", "a person is asked about the tool and not about these arguments", false},
		{"cache", "the cache does not know what the arguments make of the call", false},
		{"retry", "the arguments are judged again for each attempt", true},
	}},
	{name: "admission", kind: "admit", in: func(s *Standard) list { return one(s.admit) }},
	{name: "Flow", kind: "flow", in: func(s *Standard) list { return one(s.Flow) }, breaks: []breach{
		{"hitl", "a person is asked before the sources of the arguments are known", false},
		{"cache", "a read that sends a value out is answered or sent before its sources are known", false},
		{"flow", "each result is taken in twice", true}, // twice
	}},
	{name: "Doubt", kind: "doubt", in: func(s *Standard) list { return one(s.Doubt) }, breaks: []breach{
		{"hitl", "a person is asked about a call that may have happened already, and does not see that it may", false},
		{"intent", "what is held is recorded as begun", true},
		{"cache", "a result from the cache counts as one that shows whether a call has happened", false},
		{"retry", "an attempt is held because of the one before it", false},
		{"doubt", "each of them holds the repetition of a call once", true}, // twice
	}},
	{name: "Confirm", kind: "hitl", in: func(s *Standard) list { return one(s.Confirm) }, breaks: []breach{
		{"cache", "the cache answers without a question, and while a person thinks nothing of that server is cached", false},
		{"retry", "a person is asked again for each attempt", false},
		{"intent", "a call is recorded as begun before it is approved", true},
		{"ratelimit", "a token of the rate limit is taken before a person has approved, and for what is denied as well", true},
		{"timeout", "the time of a person's decision counts as the server's", true},
		{"hitl", "an answer to one is not an answer to the other", false}, // twice
	}},
	{name: "batch", in: func(s *Standard) list { return one(s.gate()) }},
	{name: "PerCall", in: func(s *Standard) list { return s.PerCall }},
	{name: "Audit (intent)", kind: "intent", in: func(s *Standard) list { return s.audit(Auditor.Intent) }, breaks: []breach{
		{"cache", "what the cache does with a call is not recorded before it", false},
		{"retry", "each attempt is recorded as a call of its own", false},
		{"intent", "each call is begun twice", false}, // twice
	}},
	{name: "Cache", kind: "cache", in: func(s *Standard) list { return one(s.Cache) }, breaks: []breach{
		{"retry", "each attempt goes through the cache again, and callers that wait for the call of another get its failure as often as that is retried", true},
		{"ratelimit", "a cached result costs a token of the rate limit", true},
		{"cache", "the inner one is asked for what the outer one has dropped on purpose", false}, // twice
	}},
	{name: "Retry", kind: "retry", in: func(s *Standard) list { return one(s.Retry) }, breaks: []breach{
		{"route", "no attempt goes to another replica than the first", true},
		{"ratelimit", "attempts after the first are sent without a token of the rate limit", false},
		{"timeout", "all attempts share the time of one", true},
		{"retry", "the attempts of the two multiply", false}, // twice
	}},
	{name: "RateLimit", kind: "ratelimit", in: func(s *Standard) list { return one(s.RateLimit) }, breaks: []breach{
		{"route", "a replica is chosen before there is a token of the rate limit", true},
		{"timeout", "the wait for a token of the rate limit counts as the server's time", true},
		{"ratelimit", "each attempt costs two tokens of the rate limit", true}, // twice
	}},
	{name: "PerAttempt", in: func(s *Standard) list { return s.PerAttempt }},
	{name: "Timeout", kind: "timeout", in: func(s *Standard) list { return one(s.Timeout) }, breaks: []breach{
		{"route", "choosing a replica and its failures are outside the time limit", true},
	}},
	{name: "Route", kind: "route", in: func(s *Standard) list { return one(s.Route) }},
}

// pairs are the kinds that need another one.
var pairs = []struct{ one, other, breaks string }{
	{"record", "intent", "a call leaves no trace if the process ends in its middle, and what must be recorded is refused"},
	{"intent", "record", "the end of what was begun is never recorded, so what must be recorded is refused"},
}
