package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resultcopy"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outcomeOf returns the outcome of a call, the most important one first.
func outcomeOf(ctx context.Context, res *mcp.CallToolResult, err error, said *callstate.Record) Outcome {
	_, _, asks := fault.InputRequired(err)
	switch {
	case err == nil && res == nil:
		return Failed
	case asks, err == nil && resultcopy.AsksForInput(res):
		return InputRequired
	case err == nil && res.IsError:
		return ToolError
	case err == nil:
		return OK
	case has[*middleware.OutcomeUnknownError](err), fault.IsUnread(err):
		return Unknown
	case has[*middleware.PanicError](err), errors.Is(err, errPanicked):
		return Panicked
	case !middleware.NotSent(err) && middleware.Refused(err):
		return Refused // by the server
	case middleware.NotSent(err) && said.Last("hitl").What == "denied":
		return Denied
	case middleware.NotSent(err) && said.Last("hitl").What == "unavailable":
		return Refused // for want of the store, whatever its own error is
	case errors.Is(cause.Bare(ctx, err), context.Canceled):
		return Cancelled
	case errors.Is(cause.Bare(ctx, err), context.DeadlineExceeded):
		return TimedOut
	case middleware.NotSent(err):
		if _, later := middleware.RetryAfter(err); later || middleware.Permanent(err) {
			return Refused
		}
		return NotSent
	}
	return Failed
}

func has[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// refusedBy names what refused a call, without the text of its error, which may hold an
// argument: what the error reports by RefusedBy, or else its package.
func refusedBy(err error) string {
	if by, ok := errors.AsType[interface {
		error
		RefusedBy() string
	}](err); ok {
		return by.RefusedBy()
	}
	if stage, _, ok := strings.Cut(err.Error(), ":"); ok && !strings.ContainsAny(stage, " /{\"") {
		return short(stage)
	}
	return "server"
}

// source returns where a result came from, "" if there is none.
func source(o Outcome, facts []callstate.Decision) string {
	if o != OK && o != ToolError && o != InputRequired {
		return ""
	}
	for _, f := range facts {
		switch {
		case f.Stage == "cache" && (f.What == "hit" || f.What == "joined"):
			return "cache"
		case o == InputRequired && f.Stage == "hitl" && f.What == "pending":
			return "" // the chain asks the question itself
		}
	}
	return "server"
}

// ErrRefused is in the tree of every refusal of this package.
var ErrRefused = errors.New("audit: refused")

// A RefusedError reports that a call was not made because it could not be recorded before.
// Its text leaves out the sink's error, which is for the log.
type RefusedError struct {
	Tool *middleware.Tool
	Err  error // of the sink
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("audit: %s was refused: its calls must be written down before they are made, and this one could not be; the log of the host says why", e.Tool)
}

// NotSent reports that the call was not sent.
func (*RefusedError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*RefusedError) Permanent() bool { return true }

// Unavailable reports that nothing about the call itself was at fault.
func (*RefusedError) Unavailable() bool { return true }

// ForModel returns the text for a model, with its name for the tool and the next step.
func (e *RefusedError) ForModel() string {
	return e.Tool.ModelName() + " was not called: its calls must be written down before they are made, and this one could not be. " +
		"Do not call it again; tell the user that the record of calls does not work."
}

func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

func (e *RefusedError) Unwrap() error { return e.Err }

var errPanicked = errors.New("audit: it panicked, or its goroutine was ended")
