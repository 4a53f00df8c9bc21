package hitl

// What is recorded of a question, in the store and in the log.

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
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

// storeFailed logs an error of the store, if advance has not, and returns the denial that follows from it.
func (a *asker) storeFailed(ctx context.Context, call *middleware.Call, err error) error {
	if _, logged := errors.AsType[storeError](err); !logged {
		a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store failed", slog.String("tool", call.Tool.String()), slog.Any("err", err))
		err = storeError{err}
	}
	return &DeniedError{Tool: call.Tool, Err: err}
}

// An outcome is a line of the log: how a question ended, by whom, and how long the person took.
type outcome struct {
	what, by string
	edited   bool
	took     time.Duration
}

// as returns the outcome of a question that ended as what.
func (o outcome) as(what string) outcome {
	o.what = what
	return o
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
		a.panicked(ctx, "hitl: the store panicked", redact.Value{Call: call, Value: v})
	}
}
