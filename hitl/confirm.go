package hitl

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
)

// A query is one question to a person.
type query struct {
	id       string
	call     middleware.Call
	drafts   []Draft
	edited   bool              // an earlier answer made the call what it is
	input    *middleware.Input // of the second leg
	began    time.Time
	deadline time.Time
	over     <-chan struct{} // closed when what came of it is written down
}

type answer struct {
	decision Decision
	err      error
	offers   []Offer // that were shown
	late     *answer // one that came just when the time was over
}

var errSilent = errors.New("no answer in time")

// confirm asks on a goroutine of its own, since a confirmer may not heed its
// context; that goroutine keeps the place. The answer counts only if it is there
// before the question ends.
func (a *asker) confirm(ctx context.Context, q query, place *place) answer {
	ctx, cancel := context.WithDeadlineCause(ctx, q.deadline, errSilent)
	defer cancel()
	answered := make(chan answer)
	held := place.take()
	go func() {
		got := answer{err: errors.New("the confirmer ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				a.panicked(ctx, "hitl: the confirmer panicked", redact.Said{Call: q.call, Value: v})
				got = answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}
			}
			held.leave() // first, so that who reads the answer may ask again
			select {
			case answered <- got:
			case <-q.over:
				a.late(ctx, q, got)
			}
		}()
		a.asked(ctx, &q.call)
		request := a.request(ctx, q)
		decision, err := a.ask(ctx, request)
		got = answer{decision: decision, err: err, offers: request.Offers}
	}()
	select {
	case got := <-answered:
		// Both at once: too late is too late, be it the question's end or the caller's.
		if deadline, _ := ctx.Deadline(); !time.Now().Before(deadline) {
			return answer{err: q.ended(ctx), late: &got}
		}
		return got
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	}
}

// ended is why a question whose deadline has passed is over. The context's own
// timer may not have run yet.
func (q query) ended(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !time.Now().Before(q.deadline):
		return errSilent
	}
	return &middleware.NotSentError{Err: context.DeadlineExceeded} // the caller's time, not the question's
}

// late writes down an answer that came when the question was over. The store has
// ended it, so that it has no effect there either. It may run on the confirmer's
// goroutine, where a store's panic would end the process.
func (a *asker) late(ctx context.Context, q query, got answer) {
	defer func() {
		if v := recover(); v != nil {
			a.panicked(ctx, "hitl: the store panicked at a late answer", redact.Said{Call: q.call, Value: v})
		}
	}()
	if got.err != nil {
		return // most confirmers say so that they were interrupted
	}
	to, what := approvals.Denied, "denied"
	if got.decision.Verdict == Approved {
		to, what = approvals.Approved, "approved"
	}
	a.Logger.LogAttrs(ctx, slog.LevelWarn, "hitl: a late answer has no effect", slog.String("tool", q.call.Tool.String()),
		slog.String("outcome", what), slog.String("by", got.decision.By))
	change := approvals.Change{To: to, By: got.decision.By, Until: q.deadline}
	_ = a.Store.Advance(context.WithoutCancel(ctx), q.id, change) // it says that it has no effect
}

// request is what the confirmer gets; the bytes are its own.
func (a *asker) request(ctx context.Context, q query) Request {
	r := Request{
		ID: q.id, Tool: q.call.Tool, Arguments: bytes.Clone(q.call.Arguments), CallID: q.call.ID, Scope: q.call.Scope,
		Drafts: append([]Draft(nil), q.drafts...), Offers: a.offers(ctx, q.call, len(q.drafts) > 0), Input: q.input,
	}
	r.Deadline, _ = ctx.Deadline()
	if a.About != nil {
		r.Why, r.Undo = a.About(ctx, q.call)
	}
	return r
}

func (a *asker) asked(ctx context.Context, call *middleware.Call) {
	a.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: asked",
		slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()))
}

// An outcome is what the log says of an answer.
type outcome struct {
	what, by string
	edited   bool
	took     time.Duration
}

func (a *asker) decided(ctx context.Context, call *middleware.Call, o outcome) {
	a.Logger.LogAttrs(ctx, slog.LevelInfo, "hitl: decided",
		slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()),
		slog.String("outcome", o.what), slog.String("by", o.by), slog.Bool("edited", o.edited), slog.Duration("took", o.took))
}

func (a *asker) panicked(ctx context.Context, message string, v any) {
	a.Logger.LogAttrs(ctx, slog.LevelError, message, slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
}
