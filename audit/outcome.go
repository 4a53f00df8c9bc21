package audit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outcomeOf names what came of a call, what matters most first.
func outcomeOf(ctx context.Context, res *mcp.CallToolResult, err error, facts []callstate.Decision) Outcome {
	_, _, asks := fault.InputRequired(err)
	switch {
	case err == nil:
		return resultOf(res)
	case asks:
		return InputRequired
	case has[*middleware.OutcomeUnknownError](err):
		return Unknown
	case has[*fault.PanicError](err), errors.Is(err, errPanicked):
		return Panicked
	case !middleware.NotSent(err) && middleware.Refused(err):
		return Refused // by the server
	case middleware.NotSent(err) && denied(facts):
		return Denied
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

func resultOf(res *mcp.CallToolResult) Outcome {
	switch {
	case res == nil:
		return Failed
	case res.NeedsInput() || res.RequestState != "" || len(res.InputRequests) > 0:
		return InputRequired
	case res.IsError:
		return ToolError
	}
	return OK
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

// denied reports whether the last word of those who ask people was a no.
func denied(facts []callstate.Decision) bool {
	for _, f := range slices.Backward(facts) {
		if f.Stage == "hitl" {
			return f.What == "denied"
		}
	}
	return false
}

// source says where a result came from.
func source(o Outcome, facts []callstate.Decision) string {
	if o != OK && o != ToolError && o != InputRequired {
		return ""
	}
	for _, f := range facts {
		switch {
		case f.Stage == "cache" && (f.What == "hit" || f.What == "joined"):
			return "cache"
		case o == InputRequired && f.Stage == "hitl" && f.What == "pending":
			return "" // the question is ours
		}
	}
	return "server"
}
