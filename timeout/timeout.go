// Package timeout says how long one attempt of a call may take.
//
// A tool that tells how long it usually takes (EstimatedDuration among its
// annotations) gets that time times a factor, within a floor and a cap; any other
// gets the default. A caller's own deadline wins where it is earlier, and bounds
// all attempts together.
//
// Put it inside retry, so that each attempt has its own limit, and inside the rate
// limit and the confirmation, so that no time is counted while a call waits or a
// person thinks. The chain's Standard order does that.
package timeout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options say how long an attempt may take. The zero value is ready.
type Options struct {
	// Default is for a tool that does not say how long it takes. 0 means 60 s, as
	// long as the MCP SDK for TypeScript waits for an answer.
	//
	// It is also what keeps an untrusted server from buying time: its estimate
	// counts for at most 10 s, and 10 s times a factor of 5 is less than 60 s. With a
	// smaller Default, set Cap to it if that matters.
	Default time.Duration
	// Factor is what the estimated duration is multiplied by. 0 means 5: an estimate
	// is a usual time, and the slowest call in a hundred often takes a few times as long.
	Factor float64
	// Floor is the least that an estimate leads to, so that a tool which says 1 ms
	// survives a cold start. 0 means 10 s, or Cap where that is less.
	Floor time.Duration
	// Cap is the most that an estimate leads to. 0 means 10 minutes, or Floor where
	// that is more.
	Cap time.Duration
}

// New returns a middleware that ends an attempt when its time is over. The context
// that it hands on is done then; the attempt itself runs in the caller's goroutine,
// so an executor that ignores its context is waited for, and an answer that
// arrives late all the same is returned.
//
// An attempt that ran out ends with an [*Error]. Where the caller's context ended
// first, the error holds that context's cause. In both cases it is also a
// [*middleware.OutcomeUnknownError] if the call may have happened and repeating it
// is not harmless. New panics where a number is negative or not finite, or Floor is
// more than Cap.
func New(opts Options) middleware.Middleware {
	check(opts)
	t := limits{
		normal: cmp.Or(opts.Default, time.Minute),
		factor: cmp.Or(opts.Factor, 5),
		floor:  cmp.Or(opts.Floor, min(10*time.Second, cmp.Or(opts.Cap, math.MaxInt64))),
	}
	t.limit = cmp.Or(opts.Cap, max(10*time.Minute, t.floor))
	return func(next middleware.ToolCaller) middleware.ToolCaller { return &caller{next: next, limits: t} }
}

func check(opts Options) {
	fault.RefuseNegative("timeout: Options.Default", opts.Default)
	fault.RefuseNegative("timeout: Options.Factor", opts.Factor)
	fault.RefuseNegative("timeout: Options.Floor", opts.Floor)
	fault.RefuseNegative("timeout: Options.Cap", opts.Cap)
	if opts.Cap > 0 && opts.Floor > opts.Cap {
		panic(fmt.Sprintf("timeout: Options.Floor is %v, more than the Cap of %v", opts.Floor, opts.Cap))
	}
}

type limits struct {
	normal, floor, limit time.Duration
	factor               float64
}

// of returns how long an attempt at tool may take.
func (l *limits) of(tool *middleware.Tool) time.Duration {
	if tool == nil || tool.Annotations.EstimatedDuration <= 0 {
		return l.normal
	}
	d := float64(tool.Annotations.EstimatedDuration) * l.factor
	if d >= float64(l.limit) { // compared as numbers, which do not overflow
		return l.limit
	}
	return max(time.Duration(d), l.floor)
}

type caller struct {
	next middleware.ToolCaller
	limits
	lately [64]atomic.Pointer[Error] // by the tool's digest
}

// ending is what an attempt will end with if it runs out. Until then it says the same of
// every attempt at the tool, so that one serves them all.
func (c *caller) ending(tool *middleware.Tool, after time.Duration) *Error {
	lately := &c.lately[0]
	if tool != nil {
		lately = &c.lately[tool.Digest[0]%byte(len(c.lately))]
	}
	if e := lately.Load(); e != nil && e.Tool == tool && e.After == after {
		return e
	}
	e := &Error{Tool: tool, After: after}
	lately.Store(e)
	return e
}

// Describe implements [middleware.Describer].
func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "timeout", Next: c.next, Deadlines: true}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	after := c.of(call.Tool)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= after {
		res, err := c.next.CallTool(ctx, call)
		if err != nil {
			return nil, ended(ctx, call, err)
		}
		return res, nil
	}
	own := c.ending(call.Tool, after)
	inner, cancel := context.WithTimeoutCause(ctx, after, own)
	defer cancel()
	res, err := c.next.CallTool(inner, call)
	switch {
	case err == nil:
		return res, nil
	case errors.Is(context.Cause(inner), own):
		return nil, ranOut(call, &Error{Tool: call.Tool, After: after, err: err})
	}
	return nil, ended(ctx, call, err)
}

// ranOut returns how an attempt ended whose own time was over. That it may have happened
// comes before that, also where a room further in has said so already: it is what the
// model must hear.
func ranOut(call middleware.Call, own *Error) error {
	if said, ok := errors.AsType[*middleware.OutcomeUnknownError](own.err); ok {
		return &middleware.OutcomeUnknownError{Tool: said.Tool, Check: said.Check, Err: own}
	}
	return middleware.OutcomeUnknown(call, own)
}

// ended returns err, with the cause in front where the caller's context is done.
// What err says of itself, that the call was not sent for one, stays true; what the
// cause says is about something else.
func ended(ctx context.Context, call middleware.Call, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return middleware.OutcomeUnknown(call, cause.Of(ctx, err))
}
