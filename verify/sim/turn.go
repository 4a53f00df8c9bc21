package sim

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// turns takes some calls together, as a model asks for them in one turn.
func (w *scenario) turns() [][]*record {
	r := w.dice(forPlan, 2, 0)
	if r.IntN(2) == 0 {
		return nil
	}
	var all [][]*record
	for range 1 + r.IntN(3) {
		from, many := r.IntN(len(w.order)), 2+r.IntN(8)
		var turn []*record
		for _, c := range w.order[from:min(from+many, len(w.order))] {
			if c.turn == nil {
				turn = append(turn, c)
			}
		}
		for _, c := range turn {
			c.turn = turn
			if r.IntN(2) == 0 {
				c.server = turn[0].server
			}
		}
		if len(turn) > 0 {
			all = append(all, turn)
		}
	}
	return all
}

func (w *scenario) runTurn(turn []*record) {
	var calls []middleware.Call
	for _, r := range turn {
		tool, ok := w.tools.Lookup(r.server, r.tool.name)
		if !ok {
			continue
		}
		w.begin(r, tool)
		calls = append(calls, w.call(r, tool))
	}
	o := batch.Options{Parallel: 1 + w.dice(forPlan, 3, uint64(turn[0].n)).IntN(16)}
	for i, out := range o.Run(context.Background(), booked{w}, calls) {
		if r := w.find(calls[i].ID); out.Call.ID != r.id || (out.Result == nil) == (out.Err == nil) {
			w.badf("I26", r, "the batch returned %v and %v of %s in its place", out.Result, out.Err, out.Call.ID)
		}
	}
}

// booked is the chain as a batch sees it, with a record kept of each call.
type booked struct{ w *scenario }

func (b booked) Describe() middleware.Description {
	return middleware.Description{Next: b.w.caller}
}

func (b booked) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	r := b.w.find(call.ID)
	ctx, cancel := b.w.context(ctx, r)
	defer cancel()
	return b.w.make(ctx, r, call)
}

// checkTurn checks when a call goes on that nothing before it in its turn and at its server is in
// flight that may matter. The caller holds the mutex.
func (w *scenario) checkTurn(r *record) {
	if !r.ended.IsZero() {
		return // a middleware of the host left it running
	}
	for _, before := range r.turn {
		if before == r {
			return
		}
		if before.server == r.server && !before.begun.IsZero() && before.ended.IsZero() && (before.matters() || r.matters()) {
			w.badf("I26", r, "went on while %v, which %v and precedes it in its turn, was in flight", before, before.law)
		}
	}
}

// matters reports whether the call may change something. With a class that the host has forged it
// keeps that place, and the guard stops it.
func (r *record) matters() bool { return r.law != reads && (r.law != asks || r.rogue != kinder) }

// hasItsTurn reports whether the call may have waited for others of its turn.
func (r *record) hasItsTurn() bool {
	return slices.ContainsFunc(r.turn, func(o *record) bool {
		return o != r && !o.begun.IsZero() && (o.ended.IsZero() || !o.ended.Before(r.ended))
	})
}

// ConfirmGroup is the approver for several questions at once. It answers those that the person would
// answer, in no order, when all are decided.
func (w *scenario) ConfirmGroup(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
	type asked struct {
		r       *record
		how     manner
		request hitl.Request
	}
	var all []asked
	var last time.Duration
	for _, request := range requests {
		r, how, wait := w.question(request)
		defer w.answered()
		all, last = append(all, asked{r, how, request}), max(last, wait)
	}
	if err := world.Wait(ctx, last); err != nil {
		return nil, err
	}
	said := map[string]hitl.Decision{"of nobody": {Verdict: hitl.Approved}}
	for _, a := range slices.Backward(all) {
		switch a.how {
		case approves, denies, zero, odd, edits, editsBadly, scrawls:
			own, cancel := context.WithDeadline(ctx, a.request.Deadline)
			decision, err := w.answer(own, a.r, a.how, a.request)
			cancel()
			if err == nil {
				said[a.request.ID] = decision
			}
		default: // the answer omits it
		}
	}
	return said, nil
}

func (w *scenario) call(r *record, tool *middleware.Tool) middleware.Call {
	r.sent = []byte(r.text)
	call := middleware.Call{ID: r.id, Scope: r.scope, Tool: tool, Arguments: json.RawMessage(r.sent), Meta: mcp.Meta{traceKey: r.id}}
	if r.text == "" {
		call.Arguments = nil
	}
	return call
}
