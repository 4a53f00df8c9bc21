// Package sdkerr sorts the errors of the MCP Go SDK and of HTTP by what they report about
// a call: not sent, refused before execution, final, or that its outcome is unknown.
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

// codeRateLimited is the code that SEP-3304 proposes for a call that a server
// turned away because of a limit.
const codeRateLimited = -32023

// codeTransport is the SDK's code for every error of its transport, from HTTP's 5xx to a
// broken connection. Whether the call was executed is open.
const codeTransport = -32005

// An Error is an error of the SDK with what it tells about the call.
type Error struct {
	Server, Tool string
	Err          error

	notSent   bool
	refused   bool
	permanent bool
	after     time.Duration
}

func (e *Error) Error() string {
	return fmt.Sprintf("mcp: calling %s/%s: %s%v", e.Server, e.Tool, e.state(), e.Err)
}

func (e *Error) state() string {
	switch {
	case e.notSent:
		return "not sent: "
	case e.refused:
		return "refused before execution: "
	}
	return ""
}

// Unwrap returns the SDK's error.
func (e *Error) Unwrap() error { return e.Err }

// NotSent reports that the call certainly did not leave.
func (e *Error) NotSent() bool { return e.notSent }

// Refused reports that the server turned the call away before executing it.
func (e *Error) Refused() bool { return e.refused }

// Permanent reports that the same call would only fail again.
func (e *Error) Permanent() bool { return e.permanent }

// RetryAfter is how long the server asked to be left alone, 0 where it did not.
func (e *Error) RetryAfter() time.Duration { return e.after }

// ForModel speaks of arguments that the server refused, which the model can mend.
// The server's own words may tell of its inside.
func (e *Error) ForModel() string {
	if reply, ok := errors.AsType[*jsonrpc.Error](e.Err); ok && reply.Code == jsonrpc.CodeInvalidParams {
		return "The server refused the arguments and did nothing. Compare them with what the tool takes, and call it again with others."
	}
	return ""
}

// Sort returns err with what it tells about a call of the tool. The error of a
// done context comes back as the context's cause. What a chain further in has
// sorted already comes back as it is.
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
	e := &Error{Server: server, Tool: tool, Err: err}
	status, after := w.status()
	var reply *jsonrpc.Error
	switch {
	case !w.left() && (w.tried.Load() && neverConnected(err) || ClosedBefore("tools/call", err) || unwritable(err)):
		e.notSent = true
	case errors.As(err, &reply) && reply.Code != codeTransport:
		e.answered(reply)
	case status == http.StatusTooManyRequests || status == 0 && tooManyRequests(err, reply):
		e.refused = w.once()
	}
	// A 503 may come from a server that had begun, so it is no refusal; but when to
	// come back is the server's to say of either.
	if after > 0 && e.after == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		e.after = after
	}
	return e
}

// sorted reports whether err tells by itself what is known about the call.
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

// answered sorts what a server said in JSON-RPC. A code that only says that
// something went wrong leaves open how far the call came.
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

// neverConnected reports whether no connection came about that could have
// carried the call.
func neverConnected(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}

// ClosedBefore reports whether the SDK refused to send a request on a closed connection.
// It also makes ErrConnectionClosed of a server's reply with the code -32003 or -32004, so
// the SDK's own words must follow. A server that forges these gains a second call.
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

// tooManyRequests reports HTTP 429. The SDK keeps the status only as the last
// words of its text; reply is the transport's part of the error, and a server
// that sends its code with such a text has not been stopped by HTTP.
func tooManyRequests(err error, reply *jsonrpc.Error) bool {
	status := http.StatusText(http.StatusTooManyRequests)
	return reply != nil && !strings.Contains(reply.Message, status) && strings.HasSuffix(err.Error(), status)
}

// retryAfter reads the proposed data of a rate limit: {"retryAfterMs": n} or
// {"retryAfter": seconds}.
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

// duration reads nanoseconds; what is no time to wait is 0, and what no duration
// holds is a very long one.
func duration(nanoseconds float64) time.Duration {
	if !(nanoseconds > 0) {
		return 0
	}
	if nanoseconds > math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return time.Duration(nanoseconds)
}
