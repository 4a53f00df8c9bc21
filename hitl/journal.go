package hitl

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
)

// advance records a step, and logs if it has no effect.
func (a *asker) advance(ctx context.Context, id string, change approvals.Change) error {
	err := a.Store.Advance(ctx, id, change)
	if err == nil {
		return nil
	}
	a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store took no change",
		slog.String("id", id), slog.String("to", string(change.To)), slog.Any("err", err))
	return storeError{err}
}

func (a *asker) storeFailed(ctx context.Context, call *middleware.Call, err error) error {
	if _, logged := errors.AsType[storeError](err); !logged {
		a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store failed", slog.String("tool", call.Tool.String()), slog.Any("err", err))
		err = storeError{err}
	}
	return &DeniedError{Tool: call.Tool, Err: err}
}

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

// survive keeps a store's panic from ending the process, on the confirmer's goroutine.
func (a *asker) survive(ctx context.Context, call middleware.Call) {
	if v := recover(); v != nil {
		a.panicked(ctx, "hitl: the store panicked", redact.Said{Call: call, Value: v})
	}
}
