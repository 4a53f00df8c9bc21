package hitl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
	"github.com/fairlead-go/fairlead/middleware"
)

// settle makes an event of an answer, and returns what comes of it: an approval, a stricter call to ask about, or an
// error.
func (a *asker) settle(ctx context.Context, q query, got answer) (yes *agreed, stricter *middleware.Call, err error) {
	d := got.decision
	if got.err == nil {
		callstate.Of(ctx).Write(func(r *callstate.Record) { r.By, r.Via = d.By, d.Via })
	}
	q.editing = d.Arguments != nil
	by, on, why := a.event(ctx, q, got)
	if on != lifecycle.Approve {
		reply := lifecycle.Reply{By: d.By, Reason: d.Reason}
		result, err := a.does(ctx, q, by, on, reply)
		if on == lifecycle.Postpone && err == nil {
			a.park(context.WithoutCancel(ctx), q.life.Asked.ID, q)
		}
		return nil, nil, reads(q, result, err, why)
	}
	return a.approve(ctx, q, got)
}

// event returns what an answer is for the table of package lifecycle, by whom, and the reason if it is not an answer.
// An edit counts as an approval here.
func (a *asker) event(ctx context.Context, q query, got answer) (by lifecycle.Actor, on lifecycle.Event, why error) {
	asked, pending := errors.AsType[*PendingError](got.err)
	switch {
	case ctx.Err() != nil:
		return lifecycle.Caller, lifecycle.GiveUp, fault.GivenUp(ctx)
	case pending:
		state := stateMark + q.life.Asked.ID + "." + asked.State
		return lifecycle.Confirmer, lifecycle.Postpone, &PendingError{Tool: q.call.Tool, Requests: asked.Requests, State: state}
	case middleware.NotSent(got.err):
		return lifecycle.Caller, lifecycle.GiveUp, got.err
	case errors.Is(got.err, errSilent):
		return lifecycle.Clock, lifecycle.Silence, got.err
	case got.err != nil:
		return lifecycle.Confirmer, lifecycle.Fail, got.err
	case got.decision.Verdict != Approved:
		a.habits.Decided(&q.call, false, "")
		return lifecycle.Person, lifecycle.Deny, nil
	}
	if now, err := callstate.Extra(&q.call); err != nil || !bytes.Equal(now, q.extra) {
		return lifecycle.Confirmer, lifecycle.Fail, errors.New("its _meta, input or params were changed while a person was asked")
	}
	return lifecycle.Person, lifecycle.Approve, nil
}

// approve returns the approval of a call, as edited. An edit that made the call stricter, and one of a call whose preview
// was shown, is asked about instead.
func (a *asker) approve(ctx context.Context, q query, got answer) (yes *agreed, stricter *middleware.Call, err error) {
	call, d, on := &q.call, got.decision, lifecycle.Approve
	approved := *call
	reply := lifecycle.Reply{By: d.By, Approves: true, Until: time.Now().Add(a.Lifetime)}
	if q.editing {
		if approved, err = a.edit(ctx, *call, d.Arguments); err != nil {
			failed, wrong := a.does(ctx, q, lifecycle.Confirmer, lifecycle.Fail, lifecycle.Reply{By: d.By})
			err = reads(q, failed, wrong, errors.New("the edited arguments: "+err.Error())) // the model has not written them
			if denied, ok := errors.AsType[*DeniedError](err); ok {
				denied.own = true
			}
			return nil, nil, err
		}
		on, reply.Arguments = lifecycle.Edit, hash(approved.Arguments)
		// The preview was of the call without the edit.
		other := got.previewed && !bytes.Equal(approved.Arguments, call.Arguments)
		if other {
			on, stricter = lifecycle.AskAgain, &approved
		}
		if approved.Tool.Safety() < call.Tool.Safety() {
			on, stricter = lifecycle.AskAgain, &approved
		}
	}
	if on != lifecycle.AskAgain {
		reply.Rule = a.memory.rule(ctx, approved, got)
	}
	result, err := a.does(ctx, q, lifecycle.Person, on, reply)
	if err = reads(q, result, err, nil); err != nil || stricter != nil {
		return nil, stricter, err
	}
	a.habits.Decided(&approved, true, d.By)
	return &agreed{query: q, call: approved, shown: call.Tool.Safety(), by: d.By, until: reply.Until, edited: q.editing || q.edited}, nil, nil
}

// edit returns the call with the arguments that the person wrote, classified again by what classifies calls by
// their arguments in this chain. A tool with another name, server or digest, and an error, deny the call.
func (a *asker) edit(ctx context.Context, call middleware.Call, arguments json.RawMessage) (_ middleware.Call, err error) {
	defer func() {
		if v := recover(); v != nil {
			a.panicked(ctx, "hitl: the check of an edit panicked", redact.Value{Call: call, Value: v})
			err = errors.New("their check panicked; the log of the host has the stack")
		}
	}()
	before, _ := a.drafts.IDs(&call)
	call.Arguments = bytes.Clone(arguments)
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return call, errors.New("they are empty; {} means none")
	}
	if _, err := callstate.Form(callstate.Of(ctx), &call); err != nil {
		return call, fmt.Errorf("they cannot be sent: %w", err)
	}
	if after, err := a.drafts.IDs(&call); err != nil || !slices.Equal(before, after) {
		return call, errors.New("they name other drafts than were shown")
	}
	if a.Validate != nil {
		if err := a.Validate(ctx, call.Tool, bytes.Clone(call.Arguments)); err != nil {
			return call, fmt.Errorf("they are not valid: %w", err)
		}
	}
	return callstate.JudgeAgain(ctx, call)
}
