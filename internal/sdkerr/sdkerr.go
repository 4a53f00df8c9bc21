// Package sdkerr sorts errors of the MCP Go SDK and of HTTP: not sent, refused before execution, final, or unknown.
package sdkerr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The code that SEP-3304 proposes for a call that a server turned away because of a limit, and the SDK's code for
// every error of its transport, which leaves open whether the call ran.
const (
	codeRateLimited = -32023
	codeTransport   = -32005
)

// An Error is an error of the SDK with what follows from it for the call.
type Error struct {
	Server, Tool string
	Err          error

	notSent   bool
	closed    bool // the session had ended before
	refused   bool
	permanent bool
	after     time.Duration
	turned    refusal // by HTTP
}

func (e *Error) Error() string {
	state := ""
	switch {
	case e.notSent:
		state = "not sent: "
	case e.refused:
		state = "refused before execution: "
	}
	text := fmt.Sprintf("mcp: calling %s/%s: %s%v", e.Server, e.Tool, state, e.Err)
	if e.turned.reason != "" && !strings.Contains(text, e.turned.reason) {
		text += fmt.Sprintf(" (the server gave the reason %q)", e.turned.reason)
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// NotSent reports that the call certainly did not leave.
func (e *Error) NotSent() bool { return e.notSent }

// Refused reports that the server turned the call away before executing it.
func (e *Error) Refused() bool { return e.refused }

// Permanent reports that the same call would only fail again.
func (e *Error) Permanent() bool { return e.permanent }

// RetryAfter is how long the server asked to be left alone, 0 where it did not.
func (e *Error) RetryAfter() time.Duration { return e.after }

// Turned returns why the request did not reach its server or was turned away there, and what a model can do about it; "" if
// that is not known.
func (e *Error) Turned() (why, next string) {
	switch {
	case e.refused && e.turned.status != 0:
		return e.turned.words()
	case e.closed: // beneath a chain it is not opened anew
		return "the connection to its server had ended", "No tool of that server can be called until the host has connected again; tell the user."
	}
	return "", ""
}

// ForModel returns a text about a call that the server refused, without the server's own words, or about a session that
// had ended.
func (e *Error) ForModel() string {
	switch why, next := e.Turned(); {
	case e.closed:
		return "The connection to its server has ended. " + next
	case why != "":
		return "It was not called: " + why + ". Nothing has happened. " + next
	}
	if reply, ok := errors.AsType[*jsonrpc.Error](e.Err); ok && reply.Code == jsonrpc.CodeInvalidParams {
		return "The server refused the arguments and did nothing. Compare them with what the tool takes, and call it again with others."
	}
	return ""
}

// Sort returns err with what it reports about a call of the tool. The error of a done context becomes its cause,
// and an error that a chain further in has sorted comes back as it is.
func Sort(ctx context.Context, w *Wire, server, tool string, err error) error {
	if why := context.Cause(ctx); err != nil && why != nil && sorted(why) { // as another call ended
		if told := cause.Of(ctx, err); sorted(told) {
			return told
		}
		return cause.End(ctx)
	}
	if err == nil || sorted(err) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if w == nil { // it was not watched
		w = new(Wire)
	}
	e := &Error{Server: server, Tool: tool, Err: err}
	saw := new(httpAnswer) // by RoundTripper, zero without one
	if a := w.answer.Load(); a != nil {
		saw = a
	}
	status := saw.status
	var reply *jsonrpc.Error
	switch {
	case w.sent.Load() == 0 && (w.tried.Load() && neverConnected(err) || ClosedBefore("tools/call", err) || unwritable(err)):
		e.notSent, e.closed = true, ClosedBefore("tools/call", err)
	case errors.As(err, &reply) && reply.Code != codeTransport:
		if e.answered(reply); !e.permanent && !e.refused {
			e.turnedAway(w, saw.refusal())
		}
	case status == http.StatusTooManyRequests || status == 0 && tooManyRequests(err, reply):
		e.refused = w.once()
	default:
		e.turnedAway(w, saw.refusal())
	}
	// A 503 is not a refusal, since the server may have begun; its Retry-After counts all the same.
	if saw.after > 0 && e.after == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		e.after = saw.after
	}
	return e
}

// sorted reports whether an error states already what follows from it.
func sorted(err error) bool {
	if middleware.NotSent(err) || middleware.Refused(err) || middleware.Permanent(err) {
		return true
	}
	if _, ok := errors.AsType[*middleware.OutcomeUnknownError](err); ok {
		return true
	}
	_, ok := errors.AsType[*Error](err)
	return ok
}

// answered takes over what the code of a reply states.
func (e *Error) answered(reply *jsonrpc.Error) {
	switch reply.Code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams,
		mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapabilities, mcp.CodeUnsupportedProtocolVersion,
		mcp.CodeURLElicitationRequired:
		e.permanent = true
	case codeRateLimited:
		e.refused = true
		e.after = retryAfter(reply.Data)
	}
}

// neverConnected reports whether the connection was not made.
func neverConnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	_, dns := errors.AsType[*net.DNSError](err)
	return ok && op.Op == "dial" || dns
}

// ClosedBefore reports whether the SDK refused to send a request on a closed connection. Since a reply with the
// code -32003 or -32004 is an ErrConnectionClosed too, the SDK's own words must follow.
func ClosedBefore(method string, err error) bool {
	words := fmt.Sprintf("calling %q: client is closing", method)
	for ; err != nil; err = errors.Unwrap(err) {
		if inner := errors.Unwrap(err); errors.Is(inner, mcp.ErrConnectionClosed) && errors.Unwrap(inner) == nil {
			rest, ok := strings.CutPrefix(err.Error(), mcp.ErrConnectionClosed.Error()+": "+words)
			return ok && (rest == "" || strings.HasPrefix(rest, ": "))
		}
	}
	return false
}

// unwritable reports whether the call could not even be written as JSON.
func unwritable(err error) bool {
	var m *json.MarshalerError
	var t *json.UnsupportedTypeError
	var v *json.UnsupportedValueError
	return errors.As(err, &m) || errors.As(err, &t) || errors.As(err, &v)
}

// tooManyRequests reports HTTP 429, which the SDK's text ends with. A server may forge that in its reply.
func tooManyRequests(err error, reply *jsonrpc.Error) bool {
	status := http.StatusText(http.StatusTooManyRequests)
	return reply != nil && !strings.Contains(reply.Message, status) && strings.HasSuffix(err.Error(), status)
}

// retryAfter reads the proposed data of a rate limit: {"retryAfterMs": n} or {"retryAfter": seconds}.
func retryAfter(data json.RawMessage) time.Duration {
	var d struct {
		Seconds *float64 `json:"retryAfter"`
		Millis  *float64 `json:"retryAfterMs"`
	}
	if json.Unmarshal(data, &d) != nil {
		return 0
	}
	var after float64
	switch {
	case d.Millis != nil:
		after = *d.Millis * float64(time.Millisecond)
	case d.Seconds != nil:
		after = *d.Seconds * float64(time.Second)
	}
	return duration(after)
}

// duration reads nanoseconds: 0 if they are not a time to wait, and the longest duration if they are too many.
func duration(nanoseconds float64) time.Duration {
	if !(nanoseconds > 0) {
		return 0
	}
	if nanoseconds > math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return time.Duration(nanoseconds)
}
