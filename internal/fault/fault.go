// Package fault has the errors that several packages of a chain end a call with, and what they have in common.
package fault

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Unsent is embedded in errors of calls that were certainly not sent.
type Unsent struct{}

// NotSent reports that the call was not sent.
func (Unsent) NotSent() bool { return true }

// Final is embedded in errors of calls that were certainly not sent, and that would only fail again.
type Final struct{ Unsent }

// Permanent reports that the same call would only fail again.
func (Final) Permanent() bool { return true }

// Unclear is embedded in errors that wrap one of another call, whose outcome is not that of this one.
type Unclear struct{}

// NotSent reports that the call may have been sent.
func (Unclear) NotSent() bool { return false }

// Refused reports that nothing is known about a refusal.
func (Unclear) Refused() bool { return false }

// Permanent reports that the failure is not final.
func (Unclear) Permanent() bool { return false }

// GivenUp returns the error of a call whose context was done before it was sent: the context's cause, marked as
// not sent. The facts of the cause do not hold, since it may be how another call ended.
func GivenUp(ctx context.Context) error { return &middleware.NotSentError{Err: cause.End(ctx)} }

// Ran returns err as the error of a tool that has run in this process. The facts of a call that the tool made
// itself, such as that it was not sent, do not hold for the tool.
func Ran(err error) error {
	if middleware.NotSent(err) || middleware.Refused(err) || middleware.Permanent(err) {
		return &ranError{error: err}
	}
	return err
}

type ranError struct {
	error
	Unclear
}

func (e *ranError) Unwrap() error { return e.error }

// Unsendable returns err as the error of a call that was not sent and never could be.
func Unsendable(err error) error { return &unsendableError{error: err} }

type unsendableError struct {
	error
	Final
}

func (e *unsendableError) Unwrap() error { return e.error }

// Told returns err with a text for the model. The call of a permanent one would only fail again.
func Told(err error, permanent bool, text string) error { return &toldError{err, permanent, text} }

// Plain returns an error with one text for the model and for everybody else.
func Plain(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return Told(err, false, err.Error())
}

type toldError struct {
	error

	permanent bool
	text      string
}

func (e *toldError) Unwrap() error    { return e.error }
func (e *toldError) Permanent() bool  { return e.permanent }
func (e *toldError) ForModel() string { return e.text }

// Unread returns the error of a call whose answer was not understood. What the call did is unknown, unless it is safe. The
// answer is still a source of later arguments: package flow reads it by the method Unread.
func Unread(call middleware.Call, answer []byte, why error) error {
	err := &unreadError{fmt.Errorf("fairlead: the answer of %s was not understood: %w", call.Tool, why), answer}
	if call.Tool.Safety() == annotation.Safe {
		return err
	}
	return &middleware.OutcomeUnknownError{
		Tool: call.Tool, Err: err,
		Check: fmt.Sprintf("%s may have happened: its server answered, and the answer cannot be read. Do not call it again now. Look first, "+
			"with a tool that only reads, whether what it was to change has changed, and tell the user if you cannot see it.", call.Tool.ModelName()),
	}
}

type unreadError struct {
	error

	answer []byte
}

func (e *unreadError) Unwrap() error   { return e.error }
func (e *unreadError) Permanent() bool { return true }
func (e *unreadError) Unread() []byte  { return e.answer }
func (e *unreadError) ForModel() string {
	return "The server answered, and its answer cannot be read. Do not repeat the call; tell the user."
}

// IsUnread reports whether an answer was not understood.
func IsUnread(err error) bool {
	_, ok := errors.AsType[interface {
		error
		Unread() []byte
	}](err)
	return ok
}

// InputRequired returns what the error asks of the maker of the call, and whether it has such a method.
func InputRequired(err error) (requests mcp.InputRequestMap, state string, ok bool) {
	e, ok := errors.AsType[interface {
		error
		InputRequired() (requests mcp.InputRequestMap, state string)
	}](err)
	if !ok {
		return nil, "", false
	}
	requests, state = e.InputRequired()
	return requests, state, true
}

// A NoResultError reports that a ToolCaller broke the contract: it returned neither a result nor an error.
type NoResultError struct{ Tool *middleware.Tool }

func (e *NoResultError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("fairlead: %s returned neither a result nor an error; a ToolCaller returns exactly one", e.Tool))
}

// Call calls next. It returns a panic as a [*middleware.PanicError], and neither or both of result and error as an error.
// The outcome of an unsafe call that panicked is unknown, by the class that the call has in its record.
func Call(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
	return recovered(ctx, next, &call)
}

func recovered(ctx context.Context, next middleware.ToolCaller, call *middleware.Call) (res *mcp.CallToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			tool := callstate.Of(ctx).Tool(call.Tool)
			res, err = nil, outcomeUnknown(call, tool, &middleware.PanicError{Tool: tool, Value: v, Stack: debug.Stack()})
		}
	}()
	res, err = next.CallTool(ctx, *call)
	switch {
	case err != nil:
		return nil, err
	case res == nil:
		tool := callstate.Of(ctx).Tool(call.Tool)
		return nil, outcomeUnknown(call, tool, &NoResultError{Tool: tool})
	}
	return res, nil
}

// outcomeUnknown is that of package middleware, for a call of the tool as it was classified.
func outcomeUnknown(call *middleware.Call, tool *middleware.Tool, err error) error {
	its := *call
	its.Tool = tool
	return middleware.OutcomeUnknown(its, err)
}

// Recover returns a ToolCaller that is [Call].
func Recover(next middleware.ToolCaller) middleware.ToolCaller { return &recoverer{next} }

type recoverer struct{ next middleware.ToolCaller }

func (r *recoverer) Describe() middleware.Description {
	return middleware.Description{Kind: "recover", Next: r.next}
}

func (r *recoverer) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return recovered(ctx, r.next, &call)
}

// RoundUp rounds a wait up to a multiple of the unit, so that a wait of the time in an error is long enough.
func RoundUp(d, unit time.Duration) time.Duration {
	if r := d.Truncate(unit); r < d && d < math.MaxInt64-unit {
		return r + unit
	}
	return d
}

// RefuseNegative panics if a number of an option, or in a struct or a map of options, is negative or not finite. The name
// is that of the option, such as "cache: Options".
func RefuseNegative(name string, option any) { refuse(name, reflect.ValueOf(option)) }

func refuse(name string, v reflect.Value) {
	number := 0.0
	switch v.Kind() {
	case reflect.Struct:
		for field, value := range v.Fields() {
			refuse(name+"."+field.Name, value)
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			refuse(fmt.Sprintf("%s[%q]", name, key), value)
		}
	case reflect.Int, reflect.Int64:
		number = float64(v.Int())
	case reflect.Float64:
		number = v.Float()
	}
	switch {
	case number < 0:
		panic(name + " is negative")
	case !(number <= math.MaxFloat64): // also for NaN
		panic(name + " is not finite")
	}
}
