// Package timeout limits how long one attempt of a call may take: a tool that has an EstimatedDuration gets
// that time times a factor, within a floor and a cap; any other gets the default. An earlier deadline of
// the caller wins, and bounds all attempts together.
//
// Put it inside retry, the rate limit and the confirmation, as chain.Standard does, so that each attempt has
// its own limit and waiting for a token or a person does not count.
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

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Default is for a tool without an estimate. 0 means 60 s, as in the MCP SDK for TypeScript.
	//
	// It also keeps an untrusted server from gaining time: its estimate counts for at most 10 s, and 10 s times
	// a factor of 5 is less than 60 s. With a smaller Default, set Cap to it as well.
	Default time.Duration
	// Factor multiplies the estimate. 0 means 5: the slowest call in a hundred often takes a few times as long.
	Factor float64
	// Floor is the least limit of a tool with an estimate. 0 means 10 s, or Cap if that is less.
	Floor time.Duration
	// Cap is the greatest limit of a tool with an estimate. 0 means 10 minutes, or Floor if that is more.
	Cap time.Duration
}

// New returns a middleware that ends an attempt when its time is over: the context of next is done then. The
// attempt runs in the caller's goroutine, so an executor that ignores its context is waited for, and its
// late result is returned.
//
// An attempt that ran out ends with an [*Error]; if the caller's context ended first, the error holds that
// context's cause. Both are also a [*middleware.OutcomeUnknownError] if the call may have happened and
// repeating it is not harmless. New panics if a number is negative or not finite, or Floor exceeds Cap.
func New(opts Options) middleware.Middleware {
	fault.RefuseNegative("timeout: Options", opts)
	if opts.Cap > 0 && opts.Floor > opts.Cap {
		panic(fmt.Sprintf("timeout: Options.Floor is %v, more than the Cap of %v", opts.Floor, opts.Cap))
	}
	opts.Default, opts.Factor = cmp.Or(opts.Default, time.Minute), cmp.Or(opts.Factor, 5)
	opts.Floor = cmp.Or(opts.Floor, min(10*time.Second, cmp.Or(opts.Cap, math.MaxInt64)))
	opts.Cap = cmp.Or(opts.Cap, max(10*time.Minute, opts.Floor))
	return func(next middleware.ToolCaller) middleware.ToolCaller { return &caller{next: next, limits: opts} }
}

// limit returns how long an attempt at tool may take.
func (o *Options) limit(tool *middleware.Tool) time.Duration {
	if tool == nil || tool.Annotations.EstimatedDuration <= 0 {
		return o.Default
	}
	d := float64(tool.Annotations.EstimatedDuration) * o.Factor
	if d >= float64(o.Cap) { // compared as numbers, which do not overflow
		return o.Cap
	}
	return max(time.Duration(d), o.Floor)
}

type caller struct {
	next   middleware.ToolCaller
	limits Options
	lately [64]atomic.Pointer[Error] // by the tool's digest
}

// ending returns the cause for an attempt that runs out. All attempts at a tool share it until one does.
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

func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "timeout", Next: c.next, Deadlines: true}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	after := c.limits.limit(call.Tool)
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

// ranOut returns the error of an attempt whose own time was over. The model must read that it may have happened.
func ranOut(call middleware.Call, own *Error) error {
	if said, ok := errors.AsType[*middleware.OutcomeUnknownError](own.err); ok {
		return &middleware.OutcomeUnknownError{Tool: said.Tool, Check: said.Check, Err: own}
	}
	return middleware.OutcomeUnknown(call, own)
}

// ended returns err, with the cause in front if the caller's context is done. Only the facts of err stay readable.
func ended(ctx context.Context, call middleware.Call, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return middleware.OutcomeUnknown(call, cause.Of(ctx, err))
}

// An Error is the end of an attempt that got no answer in its time. errors.Is finds [context.DeadlineExceeded].
type Error struct {
	Tool *middleware.Tool
	// After is how long the attempt was given.
	After time.Duration

	err error // how the attempt ended
}

func (e *Error) Error() string {
	return fmt.Sprintf("timeout: %s gave no answer within %v; if it usually takes longer, raise its estimated duration or timeout.Options.Default", e.Tool, e.After)
}

func (e *Error) ForModel() string {
	return fmt.Sprintf("%s gave no answer within %v. Ask it for less, use another tool, or tell the user.", e.Tool.ModelName(), e.After)
}

func (e *Error) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout reports true, as net.Error has it.
func (e *Error) Timeout() bool { return true }

func (e *Error) Unwrap() error { return e.err }
