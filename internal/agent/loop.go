package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drive asks the planner what to do, does it, and tells it how that came out,
// until the planner is done.
func (h *host) drive(ctx context.Context, planner plan.Planner) error {
	turn := plan.Turn{Goal: h.goalText(), Tools: h.tools.List()}
	for {
		step, err := planner.Next(ctx, turn)
		if err != nil {
			return err
		}
		h.screen.Say(step.Say)
		if step.Done {
			return nil
		}
		turn.Last = make([]plan.Outcome, 0, len(step.Calls))
		for _, request := range step.Calls {
			turn.Last = append(turn.Last, h.call(ctx, request))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted (%w); the lines above say what was done", context.Cause(ctx))
		}
	}
}

// call makes one call through the chain.
func (h *host) call(ctx context.Context, request plan.Request) plan.Outcome {
	tool, err := h.lookup(request.Tool)
	if err != nil {
		h.unknownTool(err)
		return plan.Outcome{Request: request, State: plan.Errored, Err: err}
	}
	id := h.nextID()
	ctx, l := newLine(ctx, request)
	res, err := h.caller.CallTool(ctx, middleware.Call{
		ID:        id,
		Tool:      tool,
		Arguments: request.Arguments,
		Meta:      mcp.Meta{"progressToken": id},
	})
	l.write(func() { request.Arguments = l.sent })
	if l.came == nil || err != nil {
		return outcome(request, res, err)
	}
	o := outcome(request, l.came.res, l.came.err)
	if h.chain.Output != nil { // what is told is what it made of that
		o.Told = plan.ResultText(res)
	}
	return o
}

// outcome sorts how a call ended.
func outcome(request plan.Request, res *mcp.CallToolResult, err error) plan.Outcome {
	o := plan.Outcome{Request: request, Result: res, Err: err}
	var unknown *middleware.OutcomeUnknownError
	switch {
	case err == nil && res.IsError:
		o.State = plan.Failed
	case err == nil:
		o.State = plan.Done
	case errors.As(err, &unknown):
		o.State, o.Told = plan.Unknown, unknown.Check
	case errors.Is(err, hitl.ErrDenied):
		o.State = plan.Denied
	case errors.Is(err, ratelimit.ErrLimited), errors.Is(err, budget.ErrStopped):
		o.State = plan.Limited
	default:
		o.State = plan.Errored
	}
	return o
}

// lookup finds a tool by any of its names.
func (h *host) lookup(name string) (*middleware.Tool, error) {
	bare := strings.TrimPrefix(name, h.server+"/")
	if tool, ok := h.tools.Lookup(h.server, bare); ok {
		return tool, nil
	}
	if tool, ok := h.tools.LookupModelName(name); ok {
		return tool, nil
	}
	var names []string
	for _, tool := range h.tools.List() {
		names = append(names, tool.Name())
	}
	return nil, fmt.Errorf("there is no tool %q; there are: %s", name, strings.Join(names, ", "))
}
