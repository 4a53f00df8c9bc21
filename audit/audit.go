// Package audit records each call: an intent before it is made, and exactly one outcome when it has ended,
// for refused calls too.
//
// The tool's security level sets the level of detail. Restricted tools and those with auditRequired are recorded
// in full, with arguments and result but without secrets. Internal and unclassified tools are recorded by name,
// time and outcome. Public tools are counted (see [Trail.Counts]). A Dangerous or Unknown call is never only
// counted. Its arguments are recorded without their secrets, as are those of any call that a person was asked
// about.
//
// If an intent cannot be written, a Dangerous or Unknown call and one that is recorded in full are refused;
// others go on, and the failure is logged.
package audit

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
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
	// the key can compare a record with the bytes sent (see [Digest]); without it, short
	// values cannot be guessed. At least 16 bytes; empty means no digests.
	Key []byte
	// Timeout bounds how long a call that needs an intent waits for the sink; 0 means
	// 5 seconds. Any other record delays its call for 100 ms at most, and not at all
	// while an earlier one is stuck.
	Timeout time.Duration
	// NoArguments leaves the arguments out of all records that are not in full. The zero value leaves them out
	// for calls without an accountable person, and for tools that the host has declared Internal.
	NoArguments bool
	// Caller returns who makes a call, for the first record of it; nil leaves that out. It is called while the call waits.
	Caller func(ctx context.Context, call middleware.Call) Caller
	// Logger gets an Error for each record that could not be written; nil is silent.
	Logger *slog.Logger
}

const leastKey = 16 // bytes

// A Trail is the audit trail of one host. It has two places in a chain: Record outside, so that it sees every
// end, and Intent inside the confirmation, right before a call is made.
//
//	chain.Standard{Audit: trail, Confirm: …}
//
// It is safe for concurrent use, and needs no closing.
type Trail struct {
	sink   Sink
	o      Options
	run    string
	calls  atomic.Int64
	lost   atomic.Int64
	stuck  atomic.Int64
	counts [annotation.Safe + 1][len(outcomes)]atomic.Int64

	trouble troubled
}

// New returns a trail that ends in the sink. It panics on a nil sink and on a short key.
func New(sink Sink, o Options) *Trail {
	switch {
	case sink == nil:
		panic("audit: New needs a sink; got nil")
	case len(o.Key) > 0 && len(o.Key) < leastKey:
		panic("audit: Options.Key is shorter than 16 bytes and can be guessed")
	}
	fault.RefuseNegative("audit: Options", o)
	o.Key, o.Timeout, o.Logger = slices.Clone(o.Key), cmp.Or(o.Timeout, 5*time.Second), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Trail{sink: sink, o: o, run: rand.Text()}
}

// Record is the middleware that records the outcome of each call.
func (t *Trail) Record(next middleware.ToolCaller) middleware.ToolCaller {
	return &recorder{next: next, trail: t}
}

// Intent is the middleware that records each call that is about to be made. It belongs inside Record.
func (t *Trail) Intent(next middleware.ToolCaller) middleware.ToolCaller {
	return &intender{next: next, trail: t}
}

// A Count is how many calls of a class ended in one way.
type Count struct {
	Class   annotation.Safety
	Outcome Outcome
	Calls   int64
}

// Counts returns how the calls of this trail ended, those that are only counted included.
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

// Lost returns how many records the sink did not accept, or not in time.
func (t *Trail) Lost() int64 { return t.lost.Load() }

// Stuck returns how many records, at most 100, the sink holds without a waiting call, each in a goroutine.
func (t *Trail) Stuck() int64 { return t.stuck.Load() }
