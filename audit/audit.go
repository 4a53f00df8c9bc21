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
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Key makes digests of arguments and results that are recorded in full, so that
	// who has the key can check a record against what was sent (see [Digest]), and
	// who has not cannot guess short values back. At least 16 bytes; empty means no
	// digests.
	Key []byte
	// Logger hears, at level Error, of each record that could not be written; nil is
	// silent.
	Logger *slog.Logger
}

const leastKey = 16 // bytes

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
	return &Trail{
		sink: sink,
		key:  slices.Clone(o.Key),
		log:  cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		run:  rand.Text(),
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

// Lost returns how many records the sink did not take.
func (t *Trail) Lost() int64 { return t.lost.Load() }

// write hands a record to the sink, whose panic is an error like any other.
func (t *Trail) write(ctx context.Context, r Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			t.log.LogAttrs(ctx, slog.LevelError, "audit: the sink panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			err = errSinkPanicked
		}
		if err != nil {
			t.lost.Add(1)
			t.log.LogAttrs(ctx, slog.LevelError, "audit: a record was not written", slog.String("kind", string(r.Kind)),
				slog.String("server", r.Server), slog.String("tool", r.Tool), slog.String("class", r.Class), slog.String("call", r.Call), slog.Any("err", err))
		}
	}()
	return t.sink.Write(ctx, r)
}
