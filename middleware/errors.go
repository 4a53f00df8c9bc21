package middleware

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What an error of the chain may tell besides its text. A room reads these facts
// and needs to know no other room's types.
type (
	notSent   interface{ NotSent() bool }
	refused   interface{ Refused() bool }
	permanent interface{ Permanent() bool }
	retry     interface{ RetryAfter() time.Duration }
	forModel  interface{ ForModel() string }
	input     interface {
		InputRequired() (requests mcp.InputRequestMap, state string)
	}
)

// is reports whether an error in err's tree implements T and says yes.
func is[T error](err error, yes func(T) bool) bool {
	e, ok := errors.AsType[T](err)
	return ok && yes(e)
}

// NotSent reports whether the error says, by a method NotSent() bool, that the
// call certainly did not leave. Whatever the class, it may be made again.
func NotSent(err error) bool {
	return is(err, func(e interface {
		error
		notSent
	}) bool {
		return e.NotSent()
	})
}

// Refused reports whether the error says, by a method Refused() bool, that the
// server turned the call away before executing it, as with HTTP 429.
func Refused(err error) bool {
	return is(err, func(e interface {
		error
		refused
	}) bool {
		return e.Refused()
	})
}

// Permanent reports whether the error says, by a method Permanent() bool, that
// the answer is final: the same call would only fail again.
func Permanent(err error) bool {
	return is(err, func(e interface {
		error
		permanent
	}) bool {
		return e.Permanent()
	})
}

// RetryAfter returns how long the error says, by a method RetryAfter()
// time.Duration, that it is of no use to call again, and whether it says so.
func RetryAfter(err error) (time.Duration, bool) {
	e, ok := errors.AsType[interface {
		error
		retry
	}](err)
	if !ok {
		return 0, false
	}
	d := e.RetryAfter()
	return d, d > 0
}

// ForModel returns what the error has to say to a model, by a method ForModel()
// string: what happened and what the model can do now, in words that hold nothing
// of the host's inside (no paths, addresses, stacks or keys, and no text of another
// error). It is "" where the error has nothing to say, and then its text is for the
// log alone.
func ForModel(err error) string {
	if e, ok := errors.AsType[interface {
		error
		forModel
	}](err); ok {
		return e.ForModel()
	}
	return ""
}

// InputRequired returns what the error says, by a method InputRequired()
// (mcp.InputRequestMap, string), must be asked of whoever made the call, and whether
// it says so. The same call comes again with the answers and the state as its
// [Input]. The edge of a server that package mount built makes an input_required
// result of it.
func InputRequired(err error) (requests mcp.InputRequestMap, state string, ok bool) {
	e, ok := errors.AsType[interface {
		error
		input
	}](err)
	if !ok {
		return nil, "", false
	}
	requests, state = e.InputRequired()
	return requests, state, true
}

// A NotSentError is the end of a call that was given up before it left.
type NotSentError struct{ Err error }

// GivenUp returns the end of a call whose context is done before it was sent: the
// context's cause, marked as [NotSent]. What the cause tells by itself, which may be
// how another call ended, is not told of this one.
func GivenUp(ctx context.Context) error { return &NotSentError{cause.End(ctx)} }

func (e *NotSentError) Error() string { return "middleware: the call was not sent: " + e.Err.Error() }

// Unwrap returns why the call was given up.
func (e *NotSentError) Unwrap() error { return e.Err }

// NotSent reports that the call did not leave.
func (e *NotSentError) NotSent() bool { return true }

// An OutcomeUnknownError says that a call may have happened: it left, and no
// answer came back. It is never sent again by the chain unless repeating it is
// harmless.
type OutcomeUnknownError struct {
	Tool *Tool
	// Check tells the model what to look at before it does anything else.
	Check string
	Err   error
}

// OutcomeUnknown returns err as the end of an attempt at call. It is an
// [*OutcomeUnknownError] where the call may have happened and repeating it is
// not harmless; any other error comes back as it is.
func OutcomeUnknown(call Call, err error) error {
	if err == nil || call.Tool.Safety() == annotation.Safe || NotSent(err) || Refused(err) || Permanent(err) {
		return err
	}
	if _, ok := errors.AsType[*OutcomeUnknownError](err); ok {
		return err
	}
	return &OutcomeUnknownError{
		Tool: call.Tool,
		Check: fmt.Sprintf("%s may or may not have happened. Do not call it again now. Look first, with a tool that only reads, "+
			"whether what it was to change has changed, and tell the user if you cannot see it.", call.Tool.ModelName()),
		Err: err,
	}
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("middleware: the outcome of %s is unknown: %v", e.Tool, e.Err)
}

// ForModel returns Check.
func (e *OutcomeUnknownError) ForModel() string { return e.Check }

// Unwrap returns what happened to the attempt, often a context's error.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// A PanicError is a panic that [Recover] caught. Its text says that something
// panicked and not what, since it may reach a model; Value and Stack are for the
// log.
type PanicError struct {
	Tool  *Tool
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("middleware: the call of %s panicked; the log of the host has the stack", e.Tool)
}

// Unwrap returns the value of the panic where it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Recover turns a panic further in into a [*PanicError], and a broken answer
// (neither or both of result and error) into an error. The outcome of an unsafe
// call that panicked is unknown.
func Recover() Middleware {
	return func(next ToolCaller) ToolCaller { return &recoverer{next} }
}

type recoverer struct{ next ToolCaller }

func (*recoverer) Kind() string         { return "recover" }
func (r *recoverer) Unwrap() ToolCaller { return r.next }

func (r *recoverer) CallTool(ctx context.Context, call Call) (res *mcp.CallToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, OutcomeUnknown(call, &PanicError{Tool: call.Tool, Value: v, Stack: debug.Stack()})
		}
	}()
	res, err = r.next.CallTool(ctx, call)
	switch {
	case err != nil:
		return nil, err
	case res == nil:
		return nil, OutcomeUnknown(call, &NoAnswerError{Tool: call.Tool})
	}
	return res, nil
}

// NotSent reports that nobody knows: a panic with the error of another call, made further
// in, says nothing of what had been done before.
func (*PanicError) NotSent() bool { return false }

// Refused reports that nothing is known of a refusal.
func (*PanicError) Refused() bool { return false }

// Permanent reports that the answer is not final.
func (*PanicError) Permanent() bool { return false }

// A NoAnswerError says that a ToolCaller broke the contract: it returned neither
// a result nor an error.
type NoAnswerError struct{ Tool *Tool }

func (e *NoAnswerError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("middleware: %s was answered with neither a result nor an error; a ToolCaller returns exactly one", e.Tool))
}
