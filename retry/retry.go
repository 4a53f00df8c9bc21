// Package retry repeats a failed call if that is harmless or if the call was certainly not carried out.
//
// Most callers put [New] into the Retry slot of chain.Standard. A call that may have happened, and is not harmless to
// repeat, ends with an [OutcomeUnknownError], which names what to look at.
package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Attempts is how often a call is made at most, the first time included; 0 means 3.
	Attempts int
	// First bounds the wait after the first failure; 0 means the tool's estimated duration, between 50 ms and
	// 5 s, and 200 ms if that is not known.
	First time.Duration
	// Max bounds every wait; 0 means 10 seconds. If a server asks for a longer one, the call is not repeated.
	Max time.Duration
	// Budget is the number of tokens for repeating the calls of one server; 0 means 500. A repetition takes 5,
	// or 10 if the attempt ran out of time, and gives them back if it succeeds; a call that succeeds at once
	// gives 1. A call that the server refused before execution (HTTP 429) takes none. Without tokens a call is
	// not repeated. The numbers are those of the AWS SDKs. Each application of the middleware has its own.
	Budget int
	// Rand returns numbers in [0, 1) and must be safe for concurrent use; nil means math/rand/v2. Each wait is
	// a random part of its bound ("full jitter").
	Rand func() float64
	// Inferred also repeats Moderate tools whose idempotence was only inferred from their name.
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

// New returns a middleware that repeats failed calls. A call that was not sent or was refused before execution
// is repeated whatever its class, and one that failed otherwise only if the tool is safe to repeat (see
// annotation.Annotations.SafeToRetry). If it is not, and the call may have happened, the error is an
// [*OutcomeUnknownError]. A result is never repeated, and neither is a final error such as a denial.
//
// The bounds of the waits double from First up to Max. A pause that a server asks for, as with Retry-After, is the tool's:
// no call of it is sent before the pause is over, and those that wait are spread over a random part of half its length. A
// call for which it is too long ends with a [*PausedError] and was not sent. If the wait would not end before the context's
// deadline, or the server's budget is used up, the error comes at once, as an [*ExhaustedError] like that of
// the last attempt. New panics on a negative number.
func New(o Options) middleware.Middleware {
	fault.RefuseNegative("retry: Options", o)
	o.Attempts, o.Max, o.Budget = cmp.Or(o.Attempts, defaultAttempts), cmp.Or(o.Max, defaultMax), cmp.Or(o.Budget, defaultBudget)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	tokens, waits := &budget{tokens: o.Budget, spent: make(map[string]int)}, &pauses{until: make(map[string]time.Time)}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return &retrier{Options: o, next: next, budget: tokens, pauses: waits}
	}
}

// A retrier makes the attempts of a call. What decides about another one is, in this order: whether the context is done,
// whether a repetition is harmless or the call was certainly not carried out, how many attempts are left, whether
// there is time for the wait, and whether the server's budget has the tokens.
type retrier struct {
	Options

	next   middleware.ToolCaller
	budget *budget
	pauses *pauses
}

func (r *retrier) Describe() middleware.Description {
	return middleware.Description{Kind: "retry", Next: r.next, Retries: true, Plan: func(tool *middleware.Tool) string {
		if r.harmless(tool) {
			return "retry"
		}
		return "retry if not sent"
	}}
}

func (r *retrier) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if err := r.pause(ctx, call.Tool); err != nil {
		return nil, err
	}
	callstate.Of(ctx).PausedBy(r.pauses)
	res, err := r.attempt(ctx, &call)
	switch {
	case r.pauses.refused(err):
		return nil, err
	case err != nil:
		return r.again(ctx, call, err)
	}
	r.budget.give(serverOf(&call), successGain)
	return res, nil
}

func (r *retrier) attempt(ctx context.Context, call *middleware.Call) (*mcp.CallToolResult, error) {
	callstate.Of(ctx).Attempted()
	res, err := r.next.CallTool(ctx, *call)
	for again := 1; again < r.Attempts && r.pauses.refused(err); again++ { // nothing was sent
		if err = r.pause(ctx, call.Tool); err != nil {
			return nil, err
		}
		res, err = r.next.CallTool(ctx, *call)
	}
	if err != nil && callstate.Of(ctx).Record().Replica == "" { // the pause of a replica is not that of the others
		r.pauses.note(call.Tool, err)
	}
	return res, err
}

// serverOf returns the server whose budget the call uses. Calls without a tool share one.
func serverOf(call *middleware.Call) string {
	if call.Tool == nil {
		return ""
	}
	return call.Tool.Server
}

// again makes a call again whose first attempt has failed, as long as that is allowed.
func (r *retrier) again(ctx context.Context, call middleware.Call, err error) (*mcp.CallToolResult, error) {
	var bounds *backoff.ExponentialBackOff // of the waits of this call
	var reached error                      // of the first attempt that may have been executed
	for attempt := 1; ; attempt++ {
		ended := outcome(call, reached, err)
		if ctx.Err() != nil || !r.repeatable(call, err) {
			return nil, ended
		}
		if reached == nil && !middleware.NotSent(err) && !middleware.Refused(err) {
			reached = err
		}
		exhausted := &ExhaustedError{Tool: call.Tool, Attempts: attempt, Err: ended}
		if attempt == r.Attempts {
			return nil, exhausted
		}
		if bounds == nil {
			bounds = r.bounds(call.Tool)
		}
		wait, ok := r.wait(ctx, bounds, err)
		if !ok {
			return nil, exhausted
		}
		cost := costOf(err) // of the next attempt
		if !r.budget.take(serverOf(&call), cost) {
			exhausted.OverBudget = true
			return nil, exhausted
		}
		r.Logger.LogAttrs(ctx, slog.LevelInfo, "retry: again",
			slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()),
			slog.Int("attempt", attempt+1), slog.Duration("wait", wait), slog.Any("error", redact.Value{Call: call, Value: err}))
		if gone := sleep(ctx, wait); gone != nil {
			r.budget.give(serverOf(&call), cost) // nothing was sent for it
			return nil, fmt.Errorf("retry: %w while waiting to call %s again after: %w", gone, call.Tool, ended)
		}
		if r.pause(ctx, call.Tool) != nil { // another call was told of a longer one
			r.budget.give(serverOf(&call), cost)
			return nil, exhausted
		}
		if said := callstate.Of(ctx); said != nil {
			said.Decide("retry", "again", err.Error())
		}
		var res *mcp.CallToolResult
		if res, err = r.attempt(ctx, &call); err == nil {
			r.budget.give(serverOf(&call), max(cost, successGain))
			return res, nil
		}
		if r.pauses.refused(err) { // as before the attempt
			r.budget.give(serverOf(&call), cost)
			return nil, exhausted
		}
	}
}

// outcome returns the error of a call whose last attempt ended with err, of which an earlier one may have been executed if
// reached is not nil. It is true of all attempts: it keeps the effects that the earlier one may have had.
func outcome(call middleware.Call, reached, err error) error {
	switch {
	case reached == nil:
	case call.Tool.Safety() == annotation.Safe:
		err = fault.Later(call.Tool, reached, err)
	case middleware.NotSent(err) || middleware.Refused(err) || middleware.Permanent(err):
		err = fmt.Errorf("%w; and the attempt after that: %v", reached, err) //nolint:errorlint // its facts must not be read
	}
	return middleware.OutcomeUnknown(call, err)
}

// repeatable reports whether a call that failed may be made again.
func (r *retrier) repeatable(call middleware.Call, err error) bool {
	return !middleware.Permanent(err) && (middleware.NotSent(err) || middleware.Refused(err) || r.harmless(call.Tool))
}

// harmless reports whether a call of the tool that may have happened can be made again.
func (r *retrier) harmless(tool *middleware.Tool) bool {
	return tool != nil && (tool.Annotations.SafeToRetry() || r.Inferred && tool.Annotations.InferredIdempotent())
}

// OutcomeUnknownError is the end of a call that may have happened.
type OutcomeUnknownError = middleware.OutcomeUnknownError

// ErrExhausted is in the tree of the error of a call that has no attempt, or no time, left.
var ErrExhausted = errors.New("retry: no attempt is left")

// An ExhaustedError is the end of a call that has no attempt, or no time, left. It is final, so that a second
// retry further out does not multiply the attempts of the first.
type ExhaustedError struct {
	Tool     *middleware.Tool
	Attempts int
	Err      error // of the last attempt
	// OverBudget is true if another attempt was left and the server's budget was used up.
	OverBudget bool
}

func (e *ExhaustedError) Error() string {
	if e.OverBudget {
		return fmt.Sprintf("retry: %s failed and is not repeated, since too many calls of its server fail; wait before the next call: %v", e.Tool, e.Err)
	}
	return fmt.Sprintf("retry: %s failed %s, the last time with: %v", e.Tool, times(e.Attempts), e.Err)
}

// ForModel returns that trying again failed, and what the last error has for the model.
func (e *ExhaustedError) ForModel() string {
	again := "Wait before you call it again"
	if after, ok := middleware.RetryAfter(e.Err); ok && !e.OverBudget {
		again = fmt.Sprintf("Its server takes no call before %v have passed. Call it again after that", rounded(after))
	}
	text := fmt.Sprintf("%s failed %s. %s, use another tool, or tell the user.", e.Tool.ModelName(), times(e.Attempts), again)
	if e.OverBudget {
		text = fmt.Sprintf("%s failed, and so do too many calls of its server. Wait before you call that server again, or tell the user.", e.Tool.ModelName())
	}
	return strings.TrimSpace(text + " " + middleware.ForModel(e.Err))
}

// times returns how often something failed.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

func (e *ExhaustedError) Unwrap() error { return e.Err }

// Permanent reports that the call is not to be made once more.
func (e *ExhaustedError) Permanent() bool { return true }
