package agent

import (
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/prompt"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
)

// patience is how long a person has to answer.
const patience = 10 * time.Minute

// standard is the chain that every call goes through. Nothing in it names a tool:
// what happens to a call follows from its class.
func (h *host) standard() (chain.Standard, error) {
	log := slog.New(marks{})
	pace := ratelimit.Options{Logger: log}
	if h.rate > 0 {
		pace.PerMinute, pace.Burst = h.rate, 1
	}
	memory := cache.Options{Logger: log}
	ask := hitl.Options{About: h.about, Timeout: patience, Logger: log}
	h.shared.Share(h.copies)(&memory, &pace, &ask)
	s := chain.Standard{
		Telemetry:  h.watch,
		Confirm:    hitl.New(h.confirmer(), ask),
		Cache:      cache.New(memory),
		Retry:      retry.New(retry.Options{Logger: log}),
		RateLimit:  ratelimit.New(pace),
		PerAttempt: []middleware.Middleware{attempts},
		Timeout:    timeout.New(timeout.Options{}),
	}
	if h.modelPlans() { // a program reads errors, and whole answers
		s.Output = output.New(output.Options{})
		s.Budget = budget.New(budget.Options{})
	}
	return s, h.record(&s)
}

// systemPrompt is what a model is told of this chain and these tools.
func (h *host) systemPrompt() string {
	return prompt.New(prompt.Options{Identity: identity, Enforced: h.chain.Describe()}).For(h.tools.List()).String()
}

const identity = "You are an agent that works with the tools of one server on behalf of the user. Work step by step, look before you change anything, and say at the end what you did."
