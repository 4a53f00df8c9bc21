// Package guard refuses calls at the executor that no person has approved.
package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Accepted returns the tool as it is accepted at the executor, whose class counts, or refuses the call.
type Accepted func(ctx context.Context, call middleware.Call) (*middleware.Tool, error)

// New returns a guard for an executor. It refuses a Dangerous or Unknown call without an unconsumed grant for
// exactly this tool, these arguments and this scope, and one that must be recorded and was not. The class is
// the accepted tool's, unless preflight answered for exactly these arguments.
func New(next middleware.ToolCaller, accepted Accepted) middleware.ToolCaller {
	if next == nil {
		panic("fairlead: a guard needs an executor; got nil")
	}
	return For(func(ctx context.Context, call middleware.Call) (Target, error) {
		tool, err := accepted(ctx, call)
		return Target{Tool: tool, Next: next}, err
	})
}

// For returns a guard for whatever executes the calls of the targets found.
func For(lookup Lookup) middleware.ToolCaller { return &guard{lookup} }

// A Target is an accepted tool with what executes its calls.
type Target struct {
	Tool *middleware.Tool
	Next middleware.ToolCaller
	// Current reports whether both are still valid and no notice of a change is unread. Nil means always.
	Current func() bool
	// Settle reads each change that the server has announced. It is called, by all calls, if Current returns false.
	Settle func(context.Context) error
	// Ended gets the outcome of the call that began at start; nil for nothing.
	Ended func(call middleware.Call, start time.Time, res *mcp.CallToolResult, err error)
}

func (t *Target) execute(ctx context.Context, call *middleware.Call) (*mcp.CallToolResult, error) {
	if t.Ended == nil {
		return t.Next.CallTool(ctx, *call)
	}
	start := time.Now()
	res, err := t.Next.CallTool(ctx, *call)
	t.Ended(*call, start, res, err)
	return res, err
}

// A Lookup returns the target of a call. An error refuses the call.
type Lookup func(ctx context.Context, call middleware.Call) (Target, error)

// Classified returns a guard for tools of no catalog, with the class that inference gave them further out.
func Classified(next middleware.ToolCaller) middleware.ToolCaller {
	return New(next, func(ctx context.Context, call middleware.Call) (*middleware.Tool, error) {
		if tool, ok := callstate.Classified(ctx, call.Tool); ok {
			return tool, nil
		}
		unclassified := *call.Tool
		unclassified.Annotations = unclassified.Annotations.Without(
			annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.RequiresConfirmation)
		if claimed := call.Tool.Safety(); (claimed == annotation.Safe || claimed == annotation.Moderate) && // so that no person was asked
			callstate.Judged(ctx, &call, &unclassified).Safety() == annotation.Unknown && callstate.Find(ctx, &call) == nil {
			return nil, &RefusedError{Tool: &unclassified, Reason: "nobody approved it; the annotations that it was passed with count with infer.New in the chain's Infer slot, or in a catalog"}
		}
		return &unclassified, nil
	})
}

type guard struct{ lookup Lookup }

// Describe does not name what is behind the guard, which is not to be called.
func (*guard) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

func (g *guard) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return Call(ctx, &call, g.lookup)
}

// Call is what a guard does with a call, for an executor that is its own guard. It sets the tool of the call to the one
// that counts.
func Call(ctx context.Context, call *middleware.Call, lookup Lookup) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	if call.Tool == nil || call.Tool.Definition == nil {
		return nil, &RefusedError{Reason: "the call names no tool; set Call.Tool, for example from Catalog.Lookup"}
	}
	target, err := lookup(ctx, *call)
	if err == nil {
		target, err = settled(ctx, *call, target, lookup)
	}
	if err != nil {
		return nil, err
	}
	tool, judged := callstate.Judged(ctx, call, target.Tool), call.Tool
	call.Tool = tool
	if judged.Safety() == annotation.Safe && tool.Safety() == annotation.Moderate {
		// The chain took it for a read: nobody looked where its values come from, or whether it may have happened.
		return nil, &RefusedError{Tool: tool, Reason: "it was safe when the call began; make the call again, so that it is judged as what it is now", Err: errChanged}
	}
	if tool.Annotations.AuditRequired == annotation.Yes && !callstate.Marked(ctx, call) {
		return nil, &RefusedError{Tool: tool, Reason: "its calls must be recorded before they are made, and nothing has recorded this one; put audit into the chain", Err: errUnrecorded}
	}
	asked := callstate.Find(ctx, call) != nil // a person approved it, whatever its class is by now
	if class := tool.Safety(); class == annotation.Safe || class == annotation.Moderate && !asked {
		res, err := target.execute(callstate.Leave(ctx), call)
		if err != nil {
			err = middleware.OutcomeUnknown(*call, cause.Of(ctx, err))
		}
		return res, err
	}
	return approved(ctx, *call, target, lookup)
}

// approved makes a call that a person has to approve, if one has. It also makes one that a person was asked about for
// another reason, or before its class was lowered, unless it only reads: an approval is good for one execution.
func approved(ctx context.Context, call middleware.Call, target Target, lookup Lookup) (*mcp.CallToolResult, error) {
	tool, grant := call.Tool, callstate.Find(ctx, &call)
	if grant == nil {
		return nil, &RefusedError{Tool: tool, Reason: "nobody approved it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads"}
	}
	if grant.TooMild(tool) {
		return nil, &RefusedError{Tool: tool, Reason: "its approval was given to a less dangerous call; ask again, with the class that the executor knows"}
	}
	if err := grant.Consume(ctx); err != nil {
		return nil, &RefusedError{Tool: tool, Reason: err.Error(), Err: err}
	}
	if ctx.Err() != nil { // while its use was recorded
		grant.Return()
		return nil, fault.GivenUp(ctx)
	}
	target, err := settled(ctx, call, target, lookup)
	if err != nil {
		grant.Return()
		return nil, err
	}
	// A chain further in guards the same call with this one approval.
	inner, once := grant.Again(ctx)
	defer once.Void()
	res, err := target.execute(inner, &call)
	err = cause.Of(ctx, err) // what it reports about this call, and not about another
	if err != nil && (middleware.NotSent(err) || middleware.Refused(err)) {
		grant.Return()
	}
	return res, middleware.OutcomeUnknown(call, err)
}

const maxChanges = 3

// settled returns the target of a call once no announced change of it is unread. A call that nobody has to approve waits as
// well: the definition that made it safe may be the one that has changed.
func settled(ctx context.Context, call middleware.Call, target Target, lookup Lookup) (Target, error) {
	for changes := 0; ; changes++ {
		switch {
		case target.Current == nil || target.Current():
			return target, nil
		case changes == maxChanges:
			return Target{}, &RefusedError{Tool: call.Tool, Reason: "its server announces one change of its tools after the other; try again later"}
		}
		if target.Settle != nil {
			switch err := target.Settle(ctx); {
			case err != nil && ctx.Err() != nil:
				return Target{}, fault.GivenUp(ctx)
			case err != nil:
				err = fault.Told(&middleware.NotSentError{Err: err}, true, "its server has changed its tools, and they could not be listed again. Call it later, or tell the user")
				return Target{}, &RefusedError{Tool: call.Tool, Reason: "its server has announced a change of its tools that could not be read; list the tools again", Err: err}
			}
		}
		var err error
		if target, err = lookup(ctx, call); err != nil {
			return Target{}, err
		}
	}
}

// ErrRefused is in the tree of every error of a guard that refuses a call.
var ErrRefused = errors.New("fairlead: refused by the guard")

// A RefusedError reports which call a guard refused, and the next step.
type RefusedError struct {
	fault.Final

	Tool   *middleware.Tool
	Reason string
	Err    error // what keeps an approval from being used, the call from being recorded, or its class from counting; nil for nothing
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

// errUnrecorded is about the host's record of calls, which no approval mends.
var errUnrecorded = fault.Told(errors.New("nothing has recorded the call"), false,
	"its calls must be recorded before they are made, and they are not. Do not call it again; tell the user that the record of calls does not work")

// errChanged is about a call that waited while its tool became a write.
var errChanged = fault.Told(errors.New("its class has changed"), true, "what it does has changed since the call began; call it again")

func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
func (e *RefusedError) Unwrap() error        { return e.Err }
