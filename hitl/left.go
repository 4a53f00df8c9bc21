package hitl

// A decision may be made while no call waits for it: the call was impatient, and its question stayed open. leave then
// records the decision in the store as a remembered approval for one call ([approvals.Standing].Once), and left lets
// the first identical call take it, in this process or in another that has the store. Taking it is the step to Spent,
// which the store allows once.

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/entries"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// leave records a decision that was made while no call waits, for the identical call to take
// in any process that has the store. It is false if a call has taken the question up, if the
// store fails, and for what the store does not hold: edited arguments, and a decision on drafts.
func (a *asker) leave(ctx context.Context, q query, got answer) (left bool) {
	defer a.survive(ctx, q.call)
	ctx = context.WithoutCancel(ctx)
	key, d, tool := waiting.KeyOf(ctx, &q.call), got.decision, q.call.Tool
	if got.err != nil || d.Arguments != nil || a.drafts.Commits(tool) || tool.Digest == (middleware.Digest{}) {
		return false
	}
	held, ok := a.held.Take(key)
	if !ok {
		return false
	}
	left = true
	defer func() {
		if left { // also if the store panics
			held.asked.Cancel()
			held.place.Leave()
		}
	}()
	kept := entries.Standing(&q.call, d.By, q.deadline)
	kept.ID, kept.Arguments, kept.Once, kept.Denied, kept.Reason = q.id, q.once, true, d.Verdict != Approved, d.Reason
	change, o := approvals.Change{To: approvals.Approved, By: d.By, Until: q.deadline}, outcome{what: "approved", by: d.By, took: time.Since(q.began)}
	if kept.Denied {
		change.To, o.what = approvals.Denied, "denied"
		a.takeBack(ctx, &q.call)
	}
	err := a.Store.Remember(ctx, kept)
	if err == nil && !kept.Denied {
		err = a.remember(ctx, q.call, got)
	}
	if err == nil {
		err = a.advance(ctx, q.id, change)
	}
	if err != nil {
		_ = a.storeFailed(ctx, &q.call, errors.Join(err, a.Store.Forget(ctx, kept.Scope, kept.ID)))
		a.held.Hold(key, held, held.deadline, func() { a.expire(ctx, held) })
		return false
	}
	a.habits.Decided(&q.call, !kept.Denied, d.By)
	a.decided(ctx, &q.call, o)
	return true
}

// left takes the decision on an identical call that was made while none waited.
func (a *asker) left(ctx context.Context, call middleware.Call) (yes *agreed, found bool, err error) {
	if a.WaitLimit == nil {
		return nil, false, nil
	}
	s, found, err := entries.Take(context.WithoutCancel(ctx), a.Store, &call)
	if err != nil {
		return nil, true, a.storeFailed(ctx, &call, err)
	}
	if !found {
		return nil, false, nil
	}
	callstate.Of(ctx).Write(func(r *callstate.Record) { r.By, r.Via = s.By, "earlier, while no call waited" })
	a.decided(ctx, &call, outcome{what: "taken", by: s.By, took: time.Since(s.Since)})
	if s.Denied {
		return nil, true, &DeniedError{Tool: call.Tool, Reason: s.Reason, By: s.By}
	}
	return &agreed{call: call, shown: call.Tool.Safety(), id: s.ID, by: s.By, until: s.Until, spent: true}, true, nil
}

// takeBack ends the approvals of identical calls that no call has taken.
func (a *asker) takeBack(ctx context.Context, call *middleware.Call) {
	if a.WaitLimit == nil {
		return
	}
	if err := entries.TakeBack(context.WithoutCancel(ctx), a.Store, call); err != nil {
		_ = a.storeFailed(ctx, call, err) // they end by themselves
	}
}
