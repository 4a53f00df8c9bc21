// Package audit writes down what was about to be done and what came of it: an intent
// before a call is made, and exactly one outcome for each call, refused ones
// included.
//
// How much is written is up to the tool's security level. Restricted tools, and
// those whose calls must be recorded (auditRequired), are recorded in full, with
// arguments and result; secrets are taken out. Internal tools, and those of which
// nobody said, are recorded by name, time and outcome. Public tools are counted (see
// [Trail.Counts]). A Dangerous or Unknown call is never only counted.
//
// Where an intent cannot be written, a Dangerous or Unknown call and one that is
// recorded in full are refused; others go on, and the log says so.
package audit

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Key makes digests of arguments and results that are recorded in full. A holder of
	// the key can check a record against what was sent (see [Digest]); without it, short
	// values cannot be guessed. At least 16 bytes; empty means no digests.
	Key []byte
	// Timeout is how long a call that is refused without an intent waits for the sink to
	// take it; 0 means 5 seconds. Any other record holds its call for 100 ms at most, and
	// not at all while an earlier one is stuck.
	Timeout time.Duration
	// Logger gets an Error for each record that could not be written; nil is silent.
	Logger *slog.Logger
}

const (
	leastKey = 16 // bytes

	briefly  = 100 * time.Millisecond // that a record may hold a call which does not depend on it
	maxStuck = 100                    // writes that no call waits for any more; the next are lost at once
)

// A Trail is what one host writes down. It has two places in a chain: Record
// outside, so that it sees every end, and Intent inside the confirmation, right
// before a call is made.
//
//	chain.Standard{Record: trail.Record, Confirm: …, Intent: trail.Intent}
type Trail struct {
	sink   Sink
	key    []byte
	log    *slog.Logger
	run    string
	calls  atomic.Int64
	lost   atomic.Int64
	stuck  atomic.Int64
	wait   time.Duration
	counts [annotation.Safe + 1][len(outcomes)]atomic.Int64
}

// New returns a trail that ends in the sink. It panics on a nil sink and on a short
// key.
func New(sink Sink, o Options) *Trail {
	switch {
	case sink == nil:
		panic("audit: New needs a sink; got nil")
	case len(o.Key) > 0 && len(o.Key) < leastKey:
		panic("audit: Options.Key is shorter than 16 bytes and can be guessed")
	}
	fault.RefuseNegative("audit: Options.Timeout", o.Timeout)
	return &Trail{
		sink: sink,
		key:  slices.Clone(o.Key),
		log:  cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		run:  rand.Text(),
		wait: cmp.Or(o.Timeout, 5*time.Second),
	}
}

// Record is the middleware that writes down what came of each call.
func (t *Trail) Record(next middleware.ToolCaller) middleware.ToolCaller {
	return &recorder{next: next, trail: t}
}

// Intent is the middleware that writes down what is about to be done. It stands
// somewhere inside the same trail's Record.
func (t *Trail) Intent(next middleware.ToolCaller) middleware.ToolCaller {
	return &intender{next: next, trail: t}
}

// A Count is how many calls of a class ended in one way.
type Count struct {
	Class   annotation.Safety
	Outcome Outcome
	Calls   int64
}

// Counts returns how the calls of this trail ended, those that are only counted
// included, without what never happened.
func (t *Trail) Counts() []Count {
	var all []Count
	for class := range t.counts {
		for i := range outcomes {
			if n := t.counts[class][i].Load(); n > 0 {
				all = append(all, Count{annotation.Safety(class), outcomes[i], n})
			}
		}
	}
	return all
}

func (t *Trail) count(class annotation.Safety, o Outcome) {
	t.counts[min(class, annotation.Safe)][slices.Index(outcomes[:], o)].Add(1)
}

// Lost returns how many records the sink did not take, or has not taken in time so far.
func (t *Trail) Lost() int64 { return t.lost.Load() }

// Stuck returns how many records the sink holds that no call waits for any more. Each keeps
// a goroutine until the sink returns; there are at most 100.
func (t *Trail) Stuck() int64 { return t.stuck.Load() }

// A writing is one record on its way into the sink.
type writing struct {
	ctx    context.Context
	trail  *Trail
	record Record
	before *writing // of the same call, which is written first

	done chan struct{}
	err  error        // set before done is closed
	one  atomic.Int32 // 1 once it is over or the call has gone on, whichever is first
}

// write hands the record to the sink and waits until that has taken it or the wait is over,
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
	t.stuck.Add(-1) // it was taken just now
	<-w.done
	return w.err
}

// deliver runs the sink, whose panic is an error like any other.
func (w *writing) deliver() {
	t := w.trail
	defer func() {
		if v := recover(); v != nil {
			t.log.LogAttrs(w.ctx, slog.LevelError, "audit: the sink panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
		}
		switch inTime := w.one.CompareAndSwap(0, 1); {
		case inTime && w.err != nil:
			_ = w.failed(w.err)
		case !inTime:
			t.stuck.Add(-1)
			if w.err == nil {
				t.lost.Add(-1) // late, and not lost
			}
		}
		close(w.done)
	}()
	if w.before != nil {
		<-w.before.done
	}
	w.err = t.sink.Write(w.ctx, w.record)
}

// failed counts and logs that the record was not written, and returns why.
func (w *writing) failed(err error) error {
	w.trail.lost.Add(1)
	w.trail.log.LogAttrs(w.ctx, slog.LevelError, "audit: a record was not written", slog.String("kind", string(w.record.Kind)),
		slog.String("server", w.record.Server), slog.String("tool", w.record.Tool), slog.String("class", w.record.Class),
		slog.String("call", w.record.Call), slog.Any("err", err))
	return err
}

// brief is how long a record may hold a call that does not depend on it.
func (t *Trail) brief() time.Duration {
	if t.stuck.Load() > 0 {
		return 0
	}
	return min(briefly, t.wait)
}
