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
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resultcopy"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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

const maxName = 256

func short(s string) string { return trim.Bytes(s, maxName) }

// Digest returns the digest of these bytes in a trail with the key.
func Digest(key, b []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(b)
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

func (t *Trail) digest(b []byte) string {
	if len(t.o.Key) == 0 || len(b) == 0 {
		return ""
	}
	return Digest(t.o.Key, b)
}

func reasons(r *Record, tool *middleware.Tool) {
	if tool == nil {
		return
	}
	if tool.Digest != (middleware.Digest{}) {
		r.Definition = tool.Digest.String()
	}
	a := &tool.Annotations
	for _, hint := range [...]struct {
		word  string
		field annotation.Field
		value annotation.Hint
	}{
		{"read-only", annotation.ReadOnlyHint, a.ReadOnly},
		{"destructive", annotation.DestructiveHint, a.Destructive},
		{"confirmation", annotation.RequiresConfirmation, a.RequiresConfirmation},
	} {
		if hint.value == annotation.Unset {
			continue
		}
		e, _ := a.EvidenceOf(hint.field)
		r.Evidence = append(r.Evidence, short(fmt.Sprintf("%s %s: %s", hint.word, hint.value, e)))
	}
}

func (p *passage) keeps(tool *middleware.Tool, said *callstate.Record) bool {
	if p.level == full || p.trail.o.NoArguments {
		return p.level == full
	}
	return !withheld(tool) && (tool.Safety().MustConfirm() || decided(said) == named)
}

func (p *passage) values(r *Record, call *middleware.Call, tool *middleware.Tool, said *callstate.Record) {
	if p.shown || !p.keeps(tool, said) {
		return
	}
	p.shown = true
	its := *call
	if r.Kind == End && said.Asked != nil { // the caller may have changed its own
		its.Arguments = said.Asked
	}
	r.Arguments, r.ArgumentsDigest = p.redact.Arguments(its), p.trail.digest(its.Arguments)
}

// decide records what the stages decided. It comes after values, whose secrets their reasons may repeat.
func (p *passage) decide(r *Record, said *callstate.Record) {
	for _, f := range said.Decisions {
		why := said.Memory(f)
		if p.level == full {
			why = cmp.Or(why, p.redact.Text(f.Why))
		}
		r.Decisions = append(r.Decisions, Decision{Stage: f.Stage, What: f.What, Why: why})
	}
}

func (p *passage) ending(r *Record, tool *middleware.Tool, res *mcp.CallToolResult, err error) {
	if err != nil {
		r.Error = p.redact.Text(err.Error())
		return
	}
	var schema any
	if tool != nil && tool.Definition != nil {
		schema = tool.Definition.OutputSchema
	}
	raw, err := json.Marshal(res)
	if err != nil {
		r.Error = "audit: the result cannot be written as JSON"
		return
	}
	r.Result, r.ResultDigest = p.redact.Result(raw, schema), p.trail.digest(raw)
}

type level uint8

const (
	counted level = iota
	named         // name, time, class and outcome
	full          // arguments, result and reasons too
)

// asked returns the level that the tool's annotations ask for. A tool without a security level has its name
// recorded: a missing record cannot be made later, and an untrusted server's "public" does not count.
func asked(tool *middleware.Tool) level {
	if tool == nil {
		return named
	}
	switch a := &tool.Annotations; {
	case a.AuditRequired == annotation.Yes, a.SecurityLevel == annotation.Restricted:
		return full
	case a.SecurityLevel == annotation.Public:
		return counted
	}
	return named
}

// levelOf returns the level of the tool's calls: at least the name if a person has to approve them.
func levelOf(tool *middleware.Tool) level {
	if tool.Safety().MustConfirm() {
		return max(named, asked(tool))
	}
	return asked(tool)
}

// decided returns the level of a call that a person, or a policy in its place, decided, or that was observed.
func decided(said *callstate.Record) level {
	if said.Last("hitl") == (callstate.Decision{}) && said.Last("observe") == (callstate.Decision{}) {
		return counted
	}
	return named
}

// withheld reports whether the host has declared the tool Internal. A server cannot decide
// whether its calls are accounted for.
func withheld(tool *middleware.Tool) bool {
	if tool == nil || tool.Annotations.SecurityLevel != annotation.Internal {
		return false
	}
	by := tool.Annotations.SourceOf(annotation.SecurityLevelHint)
	return by == annotation.Host || by == annotation.Rule
}

// intended reports whether a call is recorded before it is made. An interrupted read leaves
// nothing to find out.
func intended(l level, tool *middleware.Tool) bool {
	return l == full || l == named && tool.Safety() != annotation.Safe
}

// durable reports whether a call waits until its intent outlives a loss of power,
// and is refused if that fails.
func durable(l level, tool *middleware.Tool) bool {
	return l == full || tool.Safety().MustConfirm()
}

// outcomeOf returns the outcome of a call, the most important one first.
func outcomeOf(ctx context.Context, res *mcp.CallToolResult, err error, said *callstate.Record) Outcome {
	_, _, asks := fault.InputRequired(err)
	switch {
	case err == nil && res == nil:
		return Failed
	case asks, err == nil && resultcopy.AsksForInput(res):
		return InputRequired
	case err == nil && res.IsError:
		return ToolError
	case err == nil:
		return OK
	case has[*middleware.OutcomeUnknownError](err):
		return Unknown
	case has[*fault.PanicError](err), errors.Is(err, errPanicked):
		return Panicked
	case !middleware.NotSent(err) && middleware.Refused(err):
		return Refused // by the server
	case middleware.NotSent(err) && said.Last("hitl").What == "denied":
		return Denied
	case errors.Is(cause.Bare(ctx, err), context.Canceled):
		return Cancelled
	case errors.Is(cause.Bare(ctx, err), context.DeadlineExceeded):
		return TimedOut
	case middleware.NotSent(err):
		if _, later := middleware.RetryAfter(err); later || middleware.Permanent(err) {
			return Refused
		}
		return NotSent
	}
	return Failed
}

func has[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// refusedBy names what refused a call, without the text of its error, which may hold an
// argument: what the error reports by RefusedBy, or else its package.
func refusedBy(err error) string {
	if by, ok := errors.AsType[interface {
		error
		RefusedBy() string
	}](err); ok {
		return by.RefusedBy()
	}
	if stage, _, ok := strings.Cut(err.Error(), ":"); ok && !strings.ContainsAny(stage, " /{\"") {
		return short(stage)
	}
	return "server"
}

func source(o Outcome, facts []callstate.Decision) string {
	if o != OK && o != ToolError && o != InputRequired {
		return ""
	}
	for _, f := range facts {
		switch {
		case f.Stage == "cache" && (f.What == "hit" || f.What == "joined"):
			return "cache"
		case o == InputRequired && f.Stage == "hitl" && f.What == "pending":
			return "" // the chain asks the question itself
		}
	}
	return "server"
}

// ErrRefused is in the tree of every refusal of this package.
var ErrRefused = errors.New("audit: refused")

// A RefusedError reports that a call was not made because it could not be recorded before.
// Its text leaves out the sink's error, which is for the log.
type RefusedError struct {
	fault.Final

	Tool *middleware.Tool
	Err  error // of the sink
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("audit: %s was refused: its calls must be written down before they are made, and this one could not be; the log of the host says why", e.Tool)
}

// ForModel returns the text for a model, with its name for the tool and the next step.
func (e *RefusedError) ForModel() string {
	return e.Tool.ModelName() + " was not called: its calls must be written down before they are made, and this one could not be. " +
		"Do not call it again; tell the user that the record of calls does not work."
}

func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

func (e *RefusedError) Unwrap() error { return e.Err }

var (
	errPanicked     = errors.New("audit: it panicked, or its goroutine was ended")
	errSlow         = errors.New("audit: the sink did not accept the record in time")
	errStuck        = errors.New("audit: the sink holds too many records")
	errSinkPanicked = errors.New("audit: the sink panicked")
)
