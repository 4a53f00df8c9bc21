package hitl

// What is recorded of a question, in the store and in the log.

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/middleware"
)

// storeFailed logs that the store cannot be read, and returns the denial that follows from it.
func (a *asker) storeFailed(ctx context.Context, call *middleware.Call, err error) error {
	a.Logger.LogAttrs(ctx, slog.LevelError, "hitl: the store failed", slog.String("tool", call.Tool.String()), slog.Any("err", err))
	return &DeniedError{Tool: call.Tool, Err: storeError{err}}
}

// An outcome is a line of the log: how a question ended, by whom, and how long the person took.
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
		a.panicked(ctx, "hitl: the store panicked", redact.Value{Call: call, Value: v})
	}
}
