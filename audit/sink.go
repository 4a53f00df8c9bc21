package audit

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A Sink keeps records. It is safe for concurrent use. A call waits for it no longer than
// Options.Timeout, and a write that takes longer keeps its goroutine until it returns.
type Sink interface {
	// Write returns nil once the record is kept, and if the record is Durable only once it outlives a loss
	// of power. The context of an outcome is not cancelled with its call.
	Write(ctx context.Context, r Record) error
}

// A SinkFunc is a function that keeps records.
type SinkFunc func(ctx context.Context, r Record) error

// Write calls f.
func (f SinkFunc) Write(ctx context.Context, r Record) error { return f(ctx, r) }

const (
	briefly  = 100 * time.Millisecond // that a record may delay a call which does not depend on it
	maxStuck = 100                    // writes without a waiting call; further ones are lost at once
)

var (
	errSlow         = errors.New("audit: the sink did not accept the record in time")
	errStuck        = errors.New("audit: the sink holds too many records")
	errSinkPanicked = errors.New("audit: the sink panicked")
)

// A writing is one record on its way into the sink. The sink runs on a goroutine of its own, since it may block
// although the context is done, and no call waits for it longer than write was told. One compare-and-swap decides
// which of the two was first. If the call has gone on, the record counts as stuck until the sink returns, and as
// lost unless the sink then reports that it is kept. The end of a call is handed over only after its intent,
// so that a sink gets the two in their order.
type writing struct {
	ctx    context.Context
	trail  *Trail
	record Record
	before *writing // of the same call, which is written first

	done chan struct{}
	err  error        // set before done is closed
	one  atomic.Int32 // 1 once it is over or the call has gone on, whichever is first
}

// write hands the record to the sink and waits until it is accepted or the wait is over,
// which is brief once the context is done.
func (w *writing) write(wait time.Duration) error {
	t := w.trail
	w.done, w.err = make(chan struct{}), errSinkPanicked
	if t.stuck.Load() >= maxStuck {
		w.err = errStuck
		close(w.done)
		return w.failed(errStuck)
	}
	go w.deliver()
	runtime.Gosched() // most sinks are done then
	select {
	case <-w.done:
		return w.err
	default:
	}
	timer, gone := time.NewTimer(wait), w.ctx.Done()
	defer timer.Stop()
	for late := false; !late; {
		select {
		case <-w.done:
			return w.err
		case <-gone:
			gone = nil
			timer.Reset(t.brief())
		case <-timer.C:
			late = true
		}
	}
	t.stuck.Add(1)
	if w.one.CompareAndSwap(0, 1) {
		return w.failed(errSlow)
	}
	t.stuck.Add(-1) // it was accepted just now
	<-w.done
	return w.err
}

// deliver runs the sink; a panic is an error like any other.
func (w *writing) deliver() {
	t := w.trail
	defer func() {
		if v := recover(); v != nil {
			t.o.Logger.LogAttrs(w.ctx, slog.LevelError, "audit: the sink panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
		}
		switch inTime := w.one.CompareAndSwap(0, 1); {
		case inTime && w.err != nil:
			_ = w.failed(w.err)
		case inTime:
			t.trouble.over(w.ctx, t.o.Logger)
		default:
			t.stuck.Add(-1)
			if w.err == nil {
				t.lost.Add(-1) // it was late, not lost
			}
		}
		close(w.done)
	}()
	if w.before != nil {
		<-w.before.done
	}
	w.err = t.sink.Write(w.ctx, w.record)
}

func (w *writing) failed(err error) error {
	w.trail.lost.Add(1)
	w.trail.trouble.fails(w.ctx, w.trail.o.Logger, &w.record, err)
	return err
}

func (t *Trail) brief() time.Duration {
	if t.stuck.Load() > 0 {
		return 0
	}
	return min(briefly, t.o.Timeout)
}
