// Package retry makes a failed call again where that can do no harm: the tool is
// safe to repeat, or the call is known not to have been carried out.
package retry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Attempts is how often a call is made at most, the first time included;
	// 0 means 3.
	Attempts int
	// First bounds the wait after the first failure; 0 means the tool's estimated
	// duration, between 50 ms and 5 s, and 200 ms where that is not known.
	First time.Duration
	// Max bounds every wait; 0 means 10 seconds. A server that asks to be left
	// alone for longer is not called again.
	Max time.Duration
	// Budget is how many tokens there are for repeating the calls of one server, all
	// its calls together; 0 means 500. Making a call again takes 5, or 10 if the
	// attempt ran out of time, and gives them back if it succeeds; a call that
	// succeeds at once gives 1. What the server refused before execution (HTTP 429)
	// is paced by its answer and takes none. Without tokens a call is not repeated,
	// so that a server in trouble is left alone. The numbers are those of the AWS
	// SDKs. Each application of the middleware has its own.
	Budget int
	// Rand returns numbers in [0, 1) and must be safe for concurrent use; nil means
	// math/rand/v2. Each wait is a random part of its bound ("full jitter").
	Rand func() float64
	// Inferred also repeats Moderate tools whose idempotence was only inferred
	// from their name. The default is to believe the host and trusted servers.
	Inferred bool
	// Logger gets a line for each repetition; nil is silent.
	Logger *slog.Logger
}

const (
	defaultAttempts = 3
	defaultFirst    = 200 * time.Millisecond
	leastFirst      = 50 * time.Millisecond
	mostFirst       = 5 * time.Second
	defaultMax      = 10 * time.Second
)

// New returns a middleware that makes a failed call again.
//
// A call that was not sent or was refused before execution is repeated whatever
// its class. One that failed otherwise is repeated only if the tool is safe to
// repeat (see annotation.Annotations.SafeToRetry); if it is not, and nobody knows
// whether it happened, the error is an [*OutcomeUnknownError]. A result is never
// repeated, one with IsError included, and neither is a final error such as a
// person's no.
//
// A server that fails too much is not burdened further: each has a budget for
// repetitions (see Options.Budget), and where it is spent the error comes at once,
// as an [*ExhaustedError].
//
// The bounds of the waits double from First up to Max. A wait that would not end
// before the context's deadline is not begun: the error comes at once, and it is
// an [*ExhaustedError] like that of the last attempt. New panics on a negative
// number.
func New(o Options) middleware.Middleware {
	fault.RefuseNegative("retry: Options.Attempts", o.Attempts)
	fault.RefuseNegative("retry: Options.First", o.First)
	fault.RefuseNegative("retry: Options.Max", o.Max)
	fault.RefuseNegative("retry: Options.Budget", o.Budget)
	tokens := cmp.Or(o.Budget, defaultBudget)
	r := retrier{
		attempts: cmp.Or(o.Attempts, defaultAttempts),
		first:    o.First,
		most:     cmp.Or(o.Max, defaultMax),
		inferred: o.Inferred,
		random:   o.Rand,
		log:      cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
	}
	if r.random == nil {
		r.random = rand.Float64
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		mine := r
		mine.next, mine.budget = next, newBudget(tokens)
		return &mine
	}
}

type retrier struct {
	next        middleware.ToolCaller
	budget      *budget
	attempts    int
	first, most time.Duration
	inferred    bool
	random      func() float64
	log         *slog.Logger
}

// Describe implements [middleware.Describer].
func (r *retrier) Describe() middleware.Description {
	return middleware.Description{Kind: "retry", Next: r.next, Will: r.will, Retries: true}
}

// Will says which failures are repeated.
func (r *retrier) will(tool *middleware.Tool) string {
	if r.harmless(tool) {
		return "retry"
	}
	return "retry if not sent"
}

// serverOf names whose budget a call draws on; calls without a tool share one.
func serverOf(call middleware.Call) string {
	if call.Tool == nil {
		return ""
	}
	return call.Tool.Server
}

func (r *retrier) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	var bounds *backoff.ExponentialBackOff // made after the first failure, one for each call
	var doubt error                        // of the first attempt that may have changed something
	cost := 0                              // of the attempt under way
	for attempt := 1; ; attempt++ {
		callstate.Of(ctx).Attempt()
		res, err := r.next.CallTool(ctx, call)
		if err == nil {
			r.budget.give(serverOf(call), max(cost, successGain))
			return res, nil
		}
		ended := outcome(call, doubt, err)
		if ctx.Err() != nil || !r.repeatable(call, err) {
			return nil, ended
		}
		if doubt == nil && call.Tool.Safety() != annotation.Safe && !middleware.NotSent(err) && !middleware.Refused(err) {
			doubt = err
		}
		exhausted := &ExhaustedError{Tool: call.Tool, Attempts: attempt, Err: ended}
		if attempt == r.attempts {
			return nil, exhausted
		}
		if bounds == nil {
			bounds = r.bounds(call.Tool)
		}
		wait, ok := r.wait(ctx, bounds, err)
		if !ok {
			return nil, exhausted
		}
		cost = costOf(err)
		if !r.budget.take(serverOf(call), cost) {
			exhausted.OverBudget = true
			return nil, exhausted
		}
		r.log.LogAttrs(ctx, slog.LevelInfo, "retry: again",
			slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()),
			slog.Int("attempt", attempt+1), slog.Duration("wait", wait), slog.Any("error", redact.Said{Call: call, Value: err}))
		if gone := sleep(ctx, wait); gone != nil {
			r.budget.give(serverOf(call), cost) // nothing was sent for it
			return nil, fmt.Errorf("retry: %w while waiting to call %s again after: %w", gone, call.Tool, ended)
		}
		if said := callstate.Of(ctx); said.HasRecord() {
			said.Decide("retry", "again", err.Error())
		}
	}
}

// outcome returns how a call ends whose last attempt ended with err. That this one
// was not sent, or refused, or had a final answer, says nothing about an earlier one
// that may have changed something.
func outcome(call middleware.Call, doubt, err error) error {
	if doubt != nil && (middleware.NotSent(err) || middleware.Refused(err) || middleware.Permanent(err)) {
		err = fmt.Errorf("%w; and the attempt after that: %v", doubt, err) //nolint:errorlint // its facts must not be read
	}
	return middleware.OutcomeUnknown(call, err)
}

// repeatable reports whether making the call again can do no harm and may help.
func (r *retrier) repeatable(call middleware.Call, err error) bool {
	if middleware.Permanent(err) {
		return false
	}
	if middleware.NotSent(err) || middleware.Refused(err) {
		return true
	}
	return r.harmless(call.Tool)
}

// harmless reports whether a call of the tool that may have happened can be made
// once more.
func (r *retrier) harmless(tool *middleware.Tool) bool {
	return tool != nil && (tool.Annotations.SafeToRetry() || r.inferred && tool.Annotations.InferredIdempotent())
}

// bounds returns the growing bounds of the waits of one call.
func (r *retrier) bounds(tool *middleware.Tool) *backoff.ExponentialBackOff {
	first := r.first
	if first == 0 {
		first = defaultFirst
		if tool != nil && tool.Annotations.EstimatedDuration > 0 {
			first = min(max(tool.Annotations.EstimatedDuration, leastFirst), mostFirst)
		}
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(min(first, r.most)),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(r.most),
		backoff.WithMaxElapsedTime(0),
		// backoff draws from a global source; the jitter here comes from Options.
		backoff.WithRandomizationFactor(0),
	)
}

// wait returns how long to wait before the next attempt, and whether there is
// time for it at all.
func (r *retrier) wait(ctx context.Context, bounds *backoff.ExponentialBackOff, err error) (time.Duration, bool) {
	wait := time.Duration(r.random() * float64(bounds.NextBackOff()))
	if after, ok := middleware.RetryAfter(err); ok {
		if after > r.most {
			return 0, false
		}
		wait = max(wait, after)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false
	}
	return wait, true
}

// sleep waits, and returns why the context has ended meanwhile, nil where it has
// not. The deadline is looked at again since a timer and a context that end at the
// same moment are told apart by chance.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return cause.End(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}
