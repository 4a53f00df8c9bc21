// Package hitl asks a person before a call that needs one: human in the loop.
// Whatever is not a clear yes is a no.
package hitl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/grant"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Confirmer puts a question to a person and returns the answer. Confirm
// returns soon after ctx is done; an answer that comes later has no effect. It is
// safe for concurrent use.
type Confirmer interface {
	Confirm(ctx context.Context, request Request) (Decision, error)
}

// A ConfirmerFunc is a function that asks a person.
type ConfirmerFunc func(ctx context.Context, request Request) (Decision, error)

// Confirm calls f.
func (f ConfirmerFunc) Confirm(ctx context.Context, request Request) (Decision, error) {
	return f(ctx, request)
}

// A Request is what a person is asked about. What stands in Tool.Definition is
// the server's text: escape it before you show it.
type Request struct {
	Tool      *middleware.Tool // class and evidence: Tool.Explain()
	Arguments json.RawMessage  // the exact bytes that will be sent after a yes
	CallID    string           // the model's, for display
	Scope     string           // whose call it is
	Why       string           // why the call is wanted, if Options.About knows
	Undo      string           // how it can be taken back, if Options.About knows
	Deadline  time.Time        // when silence becomes a no, or the caller has gone
}

// A Verdict is a person's answer. The zero value, and any that is not listed
// here, is a no.
type Verdict uint8

// The verdicts.
const (
	Denied Verdict = iota
	Approved
)

// A Decision is a person's answer with what belongs to it. The zero value denies.
type Decision struct {
	Verdict Verdict
	// Reason is guidance for the model after a no: what to do instead.
	Reason string
	// Arguments replace those of the call, where the person edited them before
	// saying yes. Nil means as asked.
	Arguments json.RawMessage
	// By names the person, for the record.
	By string
}

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Timeout is how long a person has; 0 means 30 seconds. Silence is a no.
	Timeout time.Duration
	// Lifetime is how long a yes may wait before it is used, for example for the
	// rate limit; 0 means 5 minutes.
	Lifetime time.Duration
	// Writes asks before Moderate calls too. The default is to ask before
	// Dangerous and Unknown ones.
	Writes bool
	// MaxPending is how many questions may wait at once; 0 means 100. The call
	// after that is denied at once.
	MaxPending int
	// About says more of a call than the chain can know: why it is wanted and how
	// it can be undone. It is asked within the time of the question; a panic is a
	// no. Nil means that neither is shown.
	About func(ctx context.Context, call middleware.Call) (why, undo string)
	// Logger gets a line for each question and answer; nil is silent.
	Logger *slog.Logger
}

const (
	defaultTimeout    = 30 * time.Second
	defaultLifetime   = 5 * time.Minute
	defaultMaxPending = 100
)

// ErrDenied is in the tree of every error that ends a call for want of a yes.
var ErrDenied = errors.New("hitl: denied")

// A DeniedError says that a call was not made, and why.
type DeniedError struct {
	Tool   *middleware.Tool
	Reason string // the person's guidance, "" where nobody answered
	By     string
	Err    error // why there was no answer, nil where a person said no
}

func (e *DeniedError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("hitl: %s was denied, since nobody said yes (%v); do not call it again, tell the user that it waits for their approval", e.Tool, e.Err)
	case e.Reason != "":
		return fmt.Sprintf("hitl: %s was denied by the user: %s", e.Tool, e.Reason)
	}
	return fmt.Sprintf("hitl: %s was denied by the user; do not call it again, ask what to do instead", e.Tool)
}

// Is reports whether target is [ErrDenied].
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// Unwrap returns why there was no answer.
func (e *DeniedError) Unwrap() error { return e.Err }

// NotSent reports that the call did not leave.
func (e *DeniedError) NotSent() bool { return true }

// Permanent reports that a no is final.
func (e *DeniedError) Permanent() bool { return true }

// New returns a middleware that asks confirmer before every Dangerous or Unknown
// call, and hands a yes on to the guard at the executor: good for one execution of
// exactly this tool with exactly these arguments. Silence, an error, a panic, the
// zero Decision and a full queue are a no, and the call ends with a
// [*DeniedError]. A call that already carries such a yes, from a chain further
// out, is not asked about again.
//
// A nil confirmer denies everything that needs a yes. New panics on a negative
// number.
func New(confirmer Confirmer, o Options) middleware.Middleware {
	switch {
	case o.Timeout < 0:
		panic("hitl: Options.Timeout is negative")
	case o.Lifetime < 0:
		panic("hitl: Options.Lifetime is negative")
	case o.MaxPending < 0:
		panic("hitl: Options.MaxPending is negative")
	}
	if f, ok := confirmer.(ConfirmerFunc); ok && f == nil {
		confirmer = nil
	}
	a := asker{
		confirmer:  confirmer,
		timeout:    cmp.Or(o.Timeout, defaultTimeout),
		lifetime:   cmp.Or(o.Lifetime, defaultLifetime),
		writes:     o.Writes,
		maxPending: int64(cmp.Or(o.MaxPending, defaultMaxPending)),
		about:      o.About,
		log:        cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		pending:    new(atomic.Int64),
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		mine := a
		mine.next = next
		return &mine
	}
}

type asker struct {
	next       middleware.ToolCaller
	confirmer  Confirmer
	timeout    time.Duration
	lifetime   time.Duration
	writes     bool
	maxPending int64
	about      func(context.Context, middleware.Call) (why, undo string)
	log        *slog.Logger
	pending    *atomic.Int64 // questions, those included whose confirmer has not returned
}

func (*asker) Kind() string                    { return "hitl" }
func (a *asker) Unwrap() middleware.ToolCaller { return a.next }

// Promise claims nothing for a chain that has nobody to ask.
func (a *asker) Promise(p *middleware.Promises) {
	p.Confirms = p.Confirms || a.confirmer != nil
	p.ConfirmsWrite = p.ConfirmsWrite || a.confirmer != nil && a.writes
}

// Will says whether a person is asked.
func (a *asker) Will(tool *middleware.Tool) string {
	switch {
	case !a.mustAsk(tool):
		return "run"
	case a.confirmer == nil:
		return "refuse, nobody can be asked"
	}
	return "ask first"
}

func (a *asker) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if !a.mustAsk(call.Tool) {
		return a.next.CallTool(ctx, call)
	}
	if call.Tool == nil || grant.Covers(ctx, &call) {
		return a.next.CallTool(ctx, call) // no tool: the guard says so
	}
	call.Arguments = bytes.Clone(call.Arguments) // what is shown is what runs, whoever writes to it meanwhile
	if err := session.CheckArguments(call); err != nil {
		return nil, err
	}
	edited, err := a.ask(ctx, call)
	if err != nil {
		return nil, err
	}
	ctx, yes := grant.Give(ctx, &edited, a.lifetime)
	defer yes.Void()
	return a.next.CallTool(ctx, edited)
}

func (a *asker) mustAsk(tool *middleware.Tool) bool {
	class := tool.Safety()
	return class.MustConfirm() || a.writes && class == annotation.Moderate
}

// ask returns the call as it was approved.
func (a *asker) ask(ctx context.Context, call middleware.Call) (middleware.Call, error) {
	denied := func(err error) (middleware.Call, error) {
		return call, &DeniedError{Tool: call.Tool, Err: err}
	}
	if a.confirmer == nil {
		return denied(errors.New("the chain has no confirmer"))
	}
	if ctx.Err() != nil {
		return call, middleware.GivenUp(ctx)
	}
	decision, err := a.confirm(ctx, call)
	switch {
	case ctx.Err() != nil:
		a.logLine(ctx, &call, "hitl: decided", "given up")
		return call, middleware.GivenUp(ctx)
	case err != nil:
		a.logLine(ctx, &call, "hitl: decided", "denied")
		return denied(err)
	case decision.Verdict != Approved:
		a.logLine(ctx, &call, "hitl: decided", "denied")
		return call, &DeniedError{Tool: call.Tool, Reason: decision.Reason, By: decision.By}
	}
	a.logLine(ctx, &call, "hitl: decided", "approved")
	if decision.Arguments == nil {
		return call, nil
	}
	call.Arguments = bytes.Clone(decision.Arguments)
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return denied(errors.New("the edited arguments are empty; {} says that there are none"))
	}
	if err := session.CheckArguments(call); err != nil {
		return denied(fmt.Errorf("the edited arguments cannot be sent: %w", err))
	}
	return call, nil
}

var errSilent = errors.New("no answer in time")

// confirm asks on a goroutine of its own, since a confirmer may not heed its
// context. Its answer counts only if it is there before the question ends.
func (a *asker) confirm(ctx context.Context, call middleware.Call) (Decision, error) {
	if a.pending.Add(1) > a.maxPending {
		a.pending.Add(-1)
		return Decision{}, fmt.Errorf("%d questions already wait for an answer", a.maxPending)
	}
	ctx, cancel := context.WithDeadlineCause(ctx, time.Now().Add(a.timeout), errSilent)
	defer cancel()
	type answer struct {
		decision Decision
		err      error
	}
	answered := make(chan answer, 1)
	go func() {
		got := answer{err: errors.New("the confirmer ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				a.log.LogAttrs(ctx, slog.LevelError, "hitl: the confirmer panicked",
					slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
				got = answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}
			}
			a.pending.Add(-1) // first, so that who reads the answer may ask again
			answered <- got
		}()
		a.logLine(ctx, &call, "hitl: asked", "")
		decision, err := a.confirmer.Confirm(ctx, a.request(ctx, call))
		got = answer{decision, err}
	}()
	select {
	case got := <-answered:
		// Both at once: too late is too late, be it the question's end or the caller's.
		if deadline, _ := ctx.Deadline(); !time.Now().Before(deadline) {
			<-ctx.Done() // its own timer may not have run yet
			return Decision{}, context.Cause(ctx)
		}
		return got.decision, got.err
	case <-ctx.Done():
		return Decision{}, context.Cause(ctx)
	}
}

// request is what the confirmer gets; the bytes are its own.
func (a *asker) request(ctx context.Context, call middleware.Call) Request {
	r := Request{Tool: call.Tool, Arguments: bytes.Clone(call.Arguments), CallID: call.ID, Scope: call.Scope}
	r.Deadline, _ = ctx.Deadline()
	if a.about != nil {
		r.Why, r.Undo = a.about(ctx, call)
	}
	return r
}

func (a *asker) logLine(ctx context.Context, call *middleware.Call, message, outcome string) {
	attrs := []slog.Attr{slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String())}
	if outcome != "" {
		attrs = append(attrs, slog.String("outcome", outcome))
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, message, attrs...)
}
