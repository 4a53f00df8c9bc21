package grant

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/note"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Accepted returns the tool as the one who guards the executor accepted it. Its
// class counts, whatever the call carries. An error refuses the call.
type Accepted func(ctx context.Context, call middleware.Call) (*middleware.Tool, error)

// Guard stands before an executor. It refuses a Dangerous or Unknown call that
// carries no unspent grant for exactly this tool, these arguments and this scope,
// and one that must be recorded and was not, and it names the outcome of an unsafe
// call that got no answer. The class is the accepted tool's, unless preflight
// answered for exactly these arguments.
func Guard(next middleware.ToolCaller, accepted Accepted) middleware.ToolCaller {
	if next == nil {
		panic("fairlead: a guard needs an executor; got nil")
	}
	return &guard{next: next, accepted: accepted}
}

// GuardClassed stands before an executor of tools that no catalogue knows. Their
// class is the one that inference gave them further out, and Unknown where it
// never saw them.
func GuardClassed(next middleware.ToolCaller) middleware.ToolCaller {
	return Guard(next, func(ctx context.Context, call middleware.Call) (*middleware.Tool, error) {
		if tool, ok := Classed(ctx, call.Tool); ok {
			return tool, nil
		}
		unclassed := *call.Tool
		unclassed.Annotations = unclassed.Annotations.Without(
			annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.RequiresConfirmation)
		return &unclassed, nil
	})
}

type guard struct {
	next     middleware.ToolCaller
	accepted Accepted
}

func (*guard) Kind() string                   { return "guard" }
func (*guard) Promise(p *middleware.Promises) { p.Guards = true }
func (g *guard) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, middleware.GivenUp(ctx)
	}
	if call.Tool == nil || call.Tool.Definition == nil {
		return nil, &RefusedError{Reason: "the call names no tool; set Call.Tool, for example from Catalog.Lookup"}
	}
	tool, err := g.accepted(ctx, call)
	if err != nil {
		return nil, err
	}
	tool = answered(ctx, &call, tool)
	call.Tool = tool
	if tool.Annotations.AuditRequired == annotation.Yes && !recorded(ctx, &call) {
		return nil, &RefusedError{Tool: tool, Reason: "its calls must be recorded before they are made, and nothing has recorded this one; put audit's links in the chain", Err: unrecordedError{}}
	}
	ctx = note.End(ctx) // what an executor does is no part of this call
	if !tool.Safety().MustConfirm() {
		res, err := g.next.CallTool(ctx, call)
		if err != nil {
			err = middleware.OutcomeUnknown(call, cause.Of(ctx, err))
		}
		return res, err
	}
	yes := find(ctx, &call)
	if yes == nil {
		return nil, &RefusedError{Tool: tool, Reason: "nobody agreed to it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads"}
	}
	if yes.tooTame(tool) {
		return nil, &RefusedError{Tool: tool, Reason: "the yes to it was to a tamer call; ask again, with the class that the executor knows"}
	}
	if err := yes.spend(ctx); err != nil {
		return nil, &RefusedError{Tool: tool, Reason: err.Error(), Err: err}
	}
	if ctx.Err() != nil { // while it was written down
		yes.giveBack()
		return nil, middleware.GivenUp(ctx)
	}
	// A chain further in guards the same call with this one yes.
	inner, once := yes.again(ctx)
	defer once.Void()
	res, err := g.next.CallTool(inner, call)
	err = cause.Of(ctx, err) // what it tells of this call, and not of another
	if err != nil && (middleware.NotSent(err) || middleware.Refused(err)) {
		yes.giveBack()
	}
	return res, middleware.OutcomeUnknown(call, err)
}

// ErrRefused is what a call that the guard turned away ends with.
var ErrRefused = errors.New("fairlead: refused by the guard")

// A RefusedError says which call the guard turned away and what to do.
type RefusedError struct {
	Tool   *middleware.Tool
	Reason string
	Err    error // what keeps a yes from being used, or the call from being recorded; nil where there was no yes
}

func (e *RefusedError) Error() string {
	if e.Tool == nil {
		return "fairlead: refused: " + e.Reason
	}
	class := e.Tool.Safety()
	if class == annotation.Unknown {
		return fmt.Sprintf("fairlead: %s was refused: nothing is known about what it does and %s", e.Tool, e.Reason)
	}
	return fmt.Sprintf("fairlead: %s was refused: it is %s and %s", e.Tool, class, e.Reason)
}

// ForModel says what the model can do. How the host can have a person asked is
// for the log.
func (e *RefusedError) ForModel() string {
	if e.Tool == nil {
		return "The call names no tool. Choose one from the list."
	}
	if told := middleware.ForModel(e.Err); told != "" {
		return fmt.Sprintf("%s was not called: %s.", e.Tool.ModelName(), told)
	}
	return e.Tool.ModelName() + " was not called: it needs a person's agreement, and there is none. " +
		"Do not call it again; tell the user, or choose a tool that only reads."
}

// An unrecordedError is about the host's record of calls, which no person's yes mends.
type unrecordedError struct{}

func (unrecordedError) Error() string { return "nothing has recorded the call" }
func (unrecordedError) ForModel() string {
	return "its calls must be recorded before they are made, and they are not. Do not call it again; tell the user that the record of calls does not work"
}

func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
func (e *RefusedError) Unwrap() error        { return e.Err }
func (e *RefusedError) NotSent() bool        { return true }
func (e *RefusedError) Permanent() bool      { return true }
