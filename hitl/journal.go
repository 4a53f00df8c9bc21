package hitl

// What is recorded of a question, in the store and in the log.

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
	"github.com/fairlead-go/fairlead/middleware"
)

// A journal is the log of what becomes of questions.
type journal struct{ log *slog.Logger }

// storeFailed logs that the store cannot be read, and returns the denial that follows from it.
func (j journal) storeFailed(ctx context.Context, call *middleware.Call, err error) error {
	j.log.LogAttrs(ctx, slog.LevelError, "hitl: the store failed", slog.String("tool", call.Tool.String()), slog.Any("err", err))
	return &DeniedError{Tool: call.Tool, Err: storeError{err}}
}

func (j journal) notStored(ctx context.Context, q query, on lifecycle.Event, err error) {
	j.log.LogAttrs(ctx, slog.LevelError, "hitl: the store took no change", slog.String("id", q.life.Asked.ID),
		slog.String("tool", q.call.Tool.String()), slog.String("on", string(on)), slog.Any("err", err))
}

// An outcome is a line of the log: how a question ended, by whom, and how long the person took.
type outcome struct {
	what, by string
	edited   bool
	took     time.Duration
}

func (j journal) decided(ctx context.Context, call *middleware.Call, o outcome) {
	j.log.LogAttrs(ctx, slog.LevelInfo, "hitl: decided",
		slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()),
		slog.String("outcome", o.what), slog.String("by", o.by), slog.Bool("edited", o.edited), slog.Duration("took", o.took))
}

func (j journal) panicked(ctx context.Context, message string, v any) {
	j.log.LogAttrs(ctx, slog.LevelError, message, slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
}

// survive keeps a store's panic from ending the process, on the confirmer's goroutine.
func (j journal) survive(ctx context.Context, call middleware.Call) {
	if v := recover(); v != nil {
		j.panicked(ctx, "hitl: the store panicked", redact.Value{Call: call, Value: v})
	}
}
