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
	"encoding/json"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
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
	// Logger gets an Error for each record that could not be written; nil is silent.
	Logger *slog.Logger
}

const (
	leastKey = 16 // bytes

	briefly  = 100 * time.Millisecond // that a record may delay a call which does not depend on it
	maxStuck = 100                    // writes without a waiting call; further ones are lost at once
)

// A Trail is the audit trail of one host. It has two places in a chain: Record outside, so that it sees every
// end, and Intent inside the confirmation, right before a call is made.
//
//	chain.Standard{Record: trail.Record, Confirm: …, Intent: trail.Intent}
type Trail struct {
	sink   Sink
	o      Options
	run    string
	calls  atomic.Int64
	lost   atomic.Int64
	stuck  atomic.Int64
	counts [annotation.Safe + 1][len(outcomes)]atomic.Int64
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
		case !inTime:
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
	w.trail.o.Logger.LogAttrs(w.ctx, slog.LevelError, "audit: a record was not written", slog.String("kind", string(w.record.Kind)),
		slog.String("server", w.record.Server), slog.String("tool", w.record.Tool), slog.String("class", w.record.Class),
		slog.String("call", w.record.Call), slog.Any("err", err))
	return err
}

func (t *Trail) brief() time.Duration {
	if t.stuck.Load() > 0 {
		return 0
	}
	return min(briefly, t.o.Timeout)
}

// A Sink keeps records. It is safe for concurrent use. A call waits for it no longer than
// Options.Timeout, and a write that takes longer keeps its goroutine until it returns.
type Sink interface {
	// Write returns nil once the record is kept, and if the record is Durable only once it outlives a loss
	// of power. The context of an outcome is not cancelled with its call.
	Write(ctx context.Context, r Record) error
}

// A SinkFunc is a function that keeps records.
type SinkFunc func(ctx context.Context, r Record) error

func (f SinkFunc) Write(ctx context.Context, r Record) error { return f(ctx, r) }

// A Kind is the kind of a record.
type Kind string

// The kinds of records.
const (
	Intent    Kind = "intent"    // a call is about to be made
	End       Kind = "end"       // it has ended; one for each call
	Recovered Kind = "recovered" // the damage of an interrupted writer was repaired
)

// An Outcome is how a call ended.
type Outcome string

// The outcomes.
const (
	OK            Outcome = "ok"             // there is a result
	ToolError     Outcome = "tool_error"     // the result reports a failure
	InputRequired Outcome = "input_required" // the server asks for input first
	Denied        Outcome = "denied"         // a person denied it, or did not answer
	Refused       Outcome = "refused"        // a middleware or the server refused it, and it did not happen
	NotSent       Outcome = "not_sent"       // it did not leave
	Cancelled     Outcome = "cancelled"      // the caller gave up
	TimedOut      Outcome = "timed_out"      // a time limit ended it
	Panicked      Outcome = "panicked"       // something in the chain or the executor did
	Failed        Outcome = "failed"         // any other error
	Unknown       Outcome = "unknown"        // it left, it is not safe, and may or may not have happened
)

var outcomes = [...]Outcome{OK, ToolError, InputRequired, Denied, Refused, NotSent, Cancelled, TimedOut, Panicked, Failed, Unknown}

// A Record is one line of a trail. Run and N name the call: an intent and an end with the same two belong
// together. An empty field was not recorded at this tool's level, or does not apply.
type Record struct {
	Time time.Time `json:"time"` // when it was made; in UTC in a file
	Kind Kind      `json:"kind"`
	Run  string    `json:"run,omitempty"` // one Trail of one process
	N    int64     `json:"n,omitempty"`   // the call's number in it

	Call   string `json:"call,omitempty"`  // Call.ID, as the host gave it
	Scope  string `json:"scope,omitempty"` // as the host gave it
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`  // its name on that server
	Class  string `json:"class,omitempty"` // "safe", "moderate", "dangerous" or "unknown"

	Outcome  Outcome       `json:"outcome,omitempty"`   // of an end
	Took     time.Duration `json:"took_ns,omitempty"`   // of an end, from the trail's Record on
	Waited   time.Duration `json:"waited_ns,omitempty"` // of that, for a person
	From     string        `json:"from,omitempty"`      // "cache" or "server", of a result
	Approval string        `json:"approval,omitempty"`  // the question that a person approved
	By       string        `json:"by,omitempty"`        // the person that decided, as the confirmer reported
	Via      string        `json:"via,omitempty"`       // how the person was reached: "form", "page", "terminal", "policy", …
	Attempts int           `json:"attempts,omitempty"`  // how often retry handed the call on; 0 without a retry
	// Decisions are what the stages decided about the call, in order; why only in full, and for a hit of the cache.
	Decisions []Decision `json:"decisions,omitempty"`
	// Sources are where the arguments of a call that a person is asked about came from, if
	// package flow traced them: without their texts.
	Sources []Source `json:"sources,omitempty"`

	// Definition is the digest of the tool's definition and Evidence why it has its
	// class: of Dangerous and Unknown tools, and in full, in the first record of a call.
	Definition string   `json:"definition,omitempty"`
	Evidence   []string `json:"evidence,omitempty"`

	// Without secrets; all but the arguments only in full. A text that is too long is replaced
	// by its size. The digests are those of [Digest], with Options.Key.
	Arguments       json.RawMessage `json:"arguments,omitempty"`
	ArgumentsDigest string          `json:"arguments_digest,omitempty"`
	Result          json.RawMessage `json:"result,omitempty"`
	ResultDigest    string          `json:"result_digest,omitempty"`
	Error           string          `json:"error,omitempty"`

	// Durable requires that Write returns only once the record outlives a loss of power.
	Durable bool `json:"-"`
}

// A Source is where one argument of the call came from.
type Source = callstate.Source

// A Decision is what one middleware decided about the call.
type Decision struct {
	Stage string `json:"stage"`
	What  string `json:"what"`
	Why   string `json:"why,omitempty"`
}
