package hitl

// What happens while a call waits for its answer, and to a question that no call waits for.

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/hitl/internal/waiting"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
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
}

// expire ends a question that no call has taken up.
func (a *asker) expire(ctx context.Context, q query) {
	if _, err := a.does(ctx, q, lifecycle.Clock, lifecycle.Expire, lifecycle.Reply{}); err == nil {
		q.end()
	}
}

// end lets go of what a question holds that was parked.
func (q query) end() {
	q.life.asked.Cancel()
	q.life.asked.Settled()
	q.place.Leave()
}

// late records that an answer came when the outcome of its question was settled. It has no effect.
func (a *asker) late(ctx context.Context, q query, got answer) {
	defer a.survive(ctx, q.call)
	if got.err != nil {
		return // most confirmers report that they were interrupted
	}
	by, outcome := got.decision.By, "denied"
	if got.decision.Verdict == Approved {
		outcome = "approved"
	}
	a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: a late answer has no effect", slog.String("tool", q.call.Tool.String()),
		slog.String("outcome", outcome), slog.String("by", by))
	_, _ = a.does(ctx, q, lifecycle.Person, lifecycle.Late, lifecycle.Reply{By: by, Approves: outcome == "approved"})
}
