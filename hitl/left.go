package hitl

// A decision may be made while no call waits for it: the call was impatient, and its question stayed open. leave then
// has the decision kept in the store for one call ([approvals.Standing].Once), and left lets the first identical call
// take it, in this process or in another that has the store.

import (
	"context"
	"errors"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
)

// leave keeps a decision that was made while no call waits, for the identical call to take
// in any process that has the store. It is false if a call has taken the question up, if the
// store fails, and for what the store does not hold: edited arguments, and a decision on drafts.
func (a *asker) leave(ctx context.Context, q query, got answer) (left bool) {
	defer a.survive(ctx, q.call)
	d := got.decision
	if got.err != nil || d.Arguments != nil || a.drafts.Commits(q.call.Tool) || q.life.Once == "" {
		return false
	}
	on, reply := lifecycle.DenyLeft, lifecycle.Reply{By: d.By, Reason: d.Reason}
	if d.Verdict == Approved {
		on = lifecycle.ApproveLeft
		reply = lifecycle.Reply{By: d.By, Approves: true, Until: q.deadline, Rule: a.memory.rule(ctx, q.call, got)}
	}
	left = true
	defer func() {
		if left { // also if the store panics
			a.held.Take(waiting.KeyOf(ctx, &q.call))
			q.end()
		}
	}()
	if kept, err := a.does(ctx, q, lifecycle.Person, on, reply); err != nil || kept.Err != nil {
		left = false
		return left
	}
	a.habits.Decided(&q.call, reply.Approves, d.By)
	return true
}

// left takes the decision on an identical call that was made while none waited.
func (a *asker) left(ctx context.Context, q query) (yes *agreed, found bool, err error) {
	if a.WaitLimit == nil {
		return nil, false, nil
	}
	all, err := a.begins(ctx, "", &q).Decisions(context.WithoutCancel(ctx), a.Store)
	if err != nil {
		a.notRead(ctx, &q.call, err)
		return nil, true, &DeniedError{Tool: q.call.Tool, Err: storeError{err}}
	}
	a.read(ctx)
	for _, s := range all {
		q.life, q.began = &life{Question: lifecycle.Load(s)}, s.Since
		taken, err := a.does(ctx, q, lifecycle.Caller, lifecycle.Take, lifecycle.Reply{})
		if errors.Is(taken.Err, approvals.ErrNoEffect) {
			continue // another call has taken it
		}
		callstate.Of(ctx).Write(func(r *callstate.Record) { r.By, r.Via = s.By, "earlier, while no call waited" })
		if err := reads(q, taken, err, nil); err != nil {
			return nil, true, err
		}
		return &agreed{query: q, call: q.call, shown: q.call.Tool.Safety(), by: s.By, until: s.Until}, true, nil
	}
	return nil, false, nil
}
