package hitl

// What happens while a call waits for its answer, and to a question that no call waits for.

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
)

// reporting calls Options.Waiting again and again until stop, for a call that has waited since then.
func (a *asker) reporting(ctx context.Context, since time.Time) (stop func()) {
	if a.OnWaiting == nil {
		return func() {}
	}
	return waiting.Every(ctx, reportEvery, func(ctx context.Context) { a.OnWaiting(ctx, time.Since(since)) })
}

// isWaiting reports whether a call has ended and its question is still open.
func isWaiting(err error) bool {
	_, ok := errors.AsType[*WaitingError](err)
	return ok
}

// reportEvery is how often the client of a call that waits is notified; many clients give a
// call up after a minute of silence, and some after ten seconds.
const reportEvery = 5 * time.Second

// park holds a question that stays open when its call ends: under its ID for a second leg, or under the key of
// identical calls. It keeps its place in the queue.
func (a *asker) park(ctx context.Context, key any, q query) {
	q.place.Hold()
	a.held.Hold(key, q, q.deadline, func() { a.expire(ctx, q) })
	a.decided(ctx, &q.call, outcome{what: "pending", took: time.Since(q.began)})
}

// expire ends a question that no call has taken up, as denied, which takes back no approval
// that another replica got.
func (a *asker) expire(ctx context.Context, q query) {
	q.asked.Cancel()
	_ = a.advance(ctx, q.id, approvals.Change{To: approvals.Denied}) // the log has it
	q.asked.Settled()
	q.place.Leave()
}

// late records that an answer came when the outcome of its question was settled. It has no effect.
func (a *asker) late(ctx context.Context, q query, got answer) {
	defer a.survive(ctx, q.call)
	if got.err != nil {
		return // most confirmers report that they were interrupted
	}
	change := approvals.Change{To: approvals.Denied, By: got.decision.By, Until: q.deadline}
	if got.decision.Verdict == Approved {
		change.To = approvals.Approved
	}
	a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: a late answer has no effect", slog.String("tool", q.call.Tool.String()),
		slog.String("outcome", string(change.To)), slog.String("by", change.By))
	_ = a.Store.Advance(context.WithoutCancel(ctx), q.id, change) // it reports that it has no effect
}
