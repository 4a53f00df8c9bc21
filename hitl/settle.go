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
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/entries"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// settle makes of an answer an approval, a stricter call to ask about, or an error, and records it.
func (a *asker) settle(ctx context.Context, q query, got answer) (yes *agreed, stricter *middleware.Call, err error) {
	o := outcome{by: got.decision.By, edited: got.decision.Arguments != nil, took: time.Since(q.began)}
	if got.err == nil {
		callstate.Of(ctx).Write(func(r *callstate.Record) { r.By, r.Via = got.decision.By, got.decision.Via })
	}
	if err := a.refuse(ctx, q, got, o); err != nil {
		return nil, nil, err
	}
	return a.approve(ctx, q, got, o)
}

// refuse returns nil for an answer that approves the call as it is, and otherwise the error that the call ends
// with. A question that stays open for a second leg is held until then.
func (a *asker) refuse(ctx context.Context, q query, got answer, o outcome) error {
	call, d := &q.call, got.decision
	asked, pending := errors.AsType[*PendingError](got.err)
	switch {
	case ctx.Err() != nil:
		a.close(ctx, q, o.as("given up"), approvals.Void)
		return fault.GivenUp(ctx)
	case pending:
		a.park(context.WithoutCancel(ctx), q.id, q)
		return &PendingError{Tool: call.Tool, Requests: asked.Requests, State: stateMark + q.id + "." + asked.State}
	case middleware.NotSent(got.err):
		a.close(ctx, q, o.as("given up"), approvals.Void)
		return got.err
	case got.err != nil:
		a.close(ctx, q, o.as("denied"), approvals.Void)
		return &DeniedError{Tool: call.Tool, Err: got.err}
	case d.Verdict != Approved:
		a.habits.Decided(call, false, "")
		a.takeBack(ctx, call)
		a.close(ctx, q, o.as("denied"), approvals.Denied)
		return &DeniedError{Tool: call.Tool, Reason: d.Reason, By: d.By}
	}
	if now, err := callstate.Extra(call); err != nil || !bytes.Equal(now, q.extra) {
		a.close(ctx, q, o.as("denied"), approvals.Void)
		return &DeniedError{Tool: call.Tool, Err: errors.New("its _meta or input was changed while a person was asked")}
	}
	return nil
}

// approve records an approval, as edited, and what is to be remembered with it. An edit that made the call
// stricter is asked about instead.
func (a *asker) approve(ctx context.Context, q query, got answer, o outcome) (yes *agreed, stricter *middleware.Call, err error) {
	call, d := &q.call, got.decision
	approved := *call
	change := approvals.Change{To: approvals.Approved, By: d.By, Until: time.Now().Add(a.Lifetime)}
	if o.edited {
		if approved, err = a.edit(ctx, *call, d.Arguments); err != nil {
			a.close(ctx, q, o.as("denied"), approvals.Void)
			err = errors.New("the edited arguments: " + err.Error()) // the model has not written them
			return nil, nil, &DeniedError{Tool: call.Tool, Err: err, own: true}
		}
		if approved.Tool.Safety() < call.Tool.Safety() {
			a.close(ctx, q, o.as("asked again"), approvals.Void)
			return nil, &approved, nil
		}
		change.Edited, change.Arguments = true, entries.Hash(approved.Arguments)
	}
	if err = a.advance(context.WithoutCancel(ctx), q.id, change); err == nil {
		err = a.remember(ctx, approved, got)
	}
	if err != nil {
		failed := a.storeFailed(ctx, call, err)
		a.close(ctx, q, o.as("denied"), approvals.Void)
		return nil, nil, failed
	}
	a.habits.Decided(&approved, true, d.By)
	a.decided(ctx, call, o.as("approved"))
	return &agreed{
		call: approved, shown: call.Tool.Safety(), id: q.id, by: d.By, until: change.Until, drafts: q.drafts, edited: o.edited || q.edited,
	}, nil, nil
}

// close records that a question has ended without an approval, as Denied or as Void.
func (a *asker) close(ctx context.Context, q query, o outcome, to approvals.State) {
	a.decided(ctx, &q.call, o)
	if q.input != nil && to == approvals.Void {
		to = approvals.Denied // which only an open question can become: an approval by another leg stays
	}
	_ = a.advance(context.WithoutCancel(ctx), q.id, approvals.Change{To: to, By: o.by}) // a denial stays one
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
