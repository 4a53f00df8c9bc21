package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/batch"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
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
		turn.Last = h.turn(ctx, step.Calls)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted (%w); the lines above say what was done", context.Cause(ctx))
		}
	}
}

// turn makes the calls of one step through the chain, side by side where nothing can
// come of it.
func (h *host) turn(ctx context.Context, requests []plan.Request) []plan.Outcome {
	outcomes := make([]plan.Outcome, len(requests))
	var calls []middleware.Call
	var made []int
	h.lines.reset()
	for i, request := range requests {
		tool, err := h.lookup(request.Tool)
		if err != nil {
			h.unknownTool(err)
			outcomes[i] = plan.Outcome{Request: request, State: plan.Errored, Err: err}
			continue
		}
		token := h.nextID()
		call := middleware.Call{ID: or(request.ID, token), Tool: tool, Arguments: request.Arguments, Meta: mcp.Meta{"progressToken": token}}
		h.lines.begin(call.ID, token, request)
		calls, made = append(calls, call), append(made, i)
	}
	for n, o := range batch.Run(ctx, h.caller, calls) {
		outcomes[made[n]] = h.told(requests[made[n]], h.lines.ofTurn(n), o)
	}
	return outcomes
}

// told is what the planner gets of one call.
func (h *host) told(request plan.Request, l *line, o batch.Outcome) plan.Outcome {
	l.write(func() { request.Arguments = l.sent })
	if l.came == nil { // it ended before anybody watched
		out := outcome(request, o.Result, o.Err)
		h.note(l, o.Call, out, 0)
		if h.chain.Output != nil {
			out.Told = middleware.ForModel(o.Err)
		}
		return out
	}
	if o.Err != nil {
		return outcome(request, o.Result, o.Err)
	}
	out := outcome(request, l.came.res, l.came.err)
	if h.chain.Output != nil { // what is told is what it made of that
		out.Told = output.Text(o.Result)
	}
	return out
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
	if tool, err := h.tools.Find(name); err == nil {
		return tool, nil
	}
	var names []string
	for _, tool := range h.tools.List() {
		names = append(names, tool.Name())
	}
	return nil, fmt.Errorf("there is no tool %q; there are: %s", name, strings.Join(names, ", "))
}
