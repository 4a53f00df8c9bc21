package hitl

// What is recorded of a question, in the store and in the log.

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
	"github.com/fairlead-go/fairlead/internal/trouble"
	"github.com/fairlead-go/fairlead/middleware"
)

// A journal is the log of what becomes of questions. A store that fails has one line at the begin and one at the end,
// however many calls there are: for what it is asked, and for its changes.
type journal struct {
	log            *slog.Logger
	reads, changes *trouble.Trouble
}

func newJournal(log *slog.Logger) journal {
	return journal{log, new(trouble.Trouble), new(trouble.Trouble)}
}

// notRead logs that the store cannot be read.
func (j journal) notRead(ctx context.Context, call *middleware.Call, err error) {
	if ctx.Err() == nil && j.reads.Fails() {
		j.log.LogAttrs(ctx, slog.LevelError, "hitl: the store failed; there is another line when it works again", slog.String("tool", call.Tool.String()), slog.Any("err", err))
	}
}

// read notes that the store was read.
func (j journal) read(ctx context.Context) {
	if failures, after := j.reads.Works(); failures > 0 {
		j.log.LogAttrs(ctx, slog.LevelError, "hitl: the store works again", slog.Int("failures", failures), slog.Duration("after", after))
	}
}

func (j journal) notStored(ctx context.Context, q query, on lifecycle.Event, err error) {
	if j.changes.Fails() {
		j.log.LogAttrs(ctx, slog.LevelError, "hitl: the store took no change; there is another line when it takes changes again", slog.String("id", q.life.Asked.ID),
			slog.String("tool", q.call.Tool.String()), slog.String("on", string(on)), slog.Any("err", err))
	}
}

// stored notes that the store took a change.
func (j journal) stored(ctx context.Context) {
	if failures, after := j.changes.Works(); failures > 0 {
		j.log.LogAttrs(ctx, slog.LevelError, "hitl: the store takes changes again", slog.Int("failures", failures), slog.Duration("after", after))
	}
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
