// Package sdkerr sorts errors of the MCP Go SDK and of HTTP: not sent, refused before execution, final, or unknown.
package sdkerr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
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
	refused   bool
	permanent bool
	after     time.Duration
}

func (e *Error) Error() string {
	state := ""
	switch {
	case e.notSent:
		state = "not sent: "
	case e.refused:
		state = "refused before execution: "
	}
	return fmt.Sprintf("mcp: calling %s/%s: %s%v", e.Server, e.Tool, state, e.Err)
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

// ForModel returns a text about arguments that the server refused, without the server's own words.
func (e *Error) ForModel() string {
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
	e := &Error{Server: server, Tool: tool, Err: err}
	var saw httpAnswer // by RoundTripper, zero without one
	if a := w.answer.Load(); a != nil {
		saw = *a
	}
	status := saw.status
	var reply *jsonrpc.Error
	switch {
	case w.sent.Load() == 0 && (w.tried.Load() && neverConnected(err) || ClosedBefore("tools/call", err) || unwritable(err)):
		e.notSent = true
	case errors.As(err, &reply) && reply.Code != codeTransport:
		e.answered(reply)
	case status == http.StatusTooManyRequests || status == 0 && tooManyRequests(err, reply):
		e.refused = w.once()
	}
	// A 503 is not a refusal, since the server may have begun; its Retry-After counts all the same.
	if saw.after > 0 && e.after == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		e.after = saw.after
	}
	return e
}

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

// A Wire watches what HTTP does with one call, since a repeated attempt may have reached the server before.
type Wire struct {
	tried atomic.Bool
	sent  atomic.Int32 // requests whose headers were written
	posts atomic.Int32 // by RoundTripper: requests that came to it

	answer atomic.Pointer[httpAnswer] // by RoundTripper: the last one
}

type httpAnswer struct {
	status int
	after  time.Duration
}

type key struct{}

type watched struct {
	*Wire

	passed *atomic.Int32 // how many transports of ours further in the request came to, nil before the first
}

// Watch returns a context for one call and its Wire, which a session without HTTP leaves unchanged.
func Watch(ctx context.Context) (context.Context, *Wire) {
	w := new(Wire)
	return httptrace.WithClientTrace(context.WithValue(ctx, key{}, watched{Wire: w}), &httptrace.ClientTrace{
		GetConn: func(string) { w.tried.Store(true) },
		// A connection may hold the headers back until the body comes, so from here on the outcome is unknown.
		WroteHeaders: func() { w.sent.Add(1) },
	}), w
}

// once reports whether at most one request left: only then does the last answer speak for the whole call.
func (w *Wire) once() bool { return w.sent.Load() <= 1 && w.posts.Load() <= 1 }

// RoundTripper returns a transport that reports HTTP's answer to the call's Wire, and keeps net/http from
// sending a POST again by itself, when a connection broke or the server redirects it.
func RoundTripper(base http.RoundTripper) http.RoundTripper { return roundTripper{base} }

type roundTripper struct{ base http.RoundTripper }

func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if from := req.Response; from != nil && from.Request != nil && from.Request.Method == http.MethodPost {
		// The call was approved for one server. Whether this one carried it out is not known.
		return nil, fmt.Errorf("the server answered a POST with %s to %s://%s, which is not followed; use the address that it leads to, if it is the right one",
			from.Status, req.URL.Scheme, req.URL.Host)
	}
	if req.Method != http.MethodPost {
		return t.base.RoundTrip(req)
	}
	w, on := req.Context().Value(key{}).(watched)
	if on {
		req = w.post(req)
	}
	res, err := t.base.RoundTrip(once(req))
	if on && err == nil && res != nil {
		w.answer.Store(&httpAnswer{res.StatusCode, retryAfterHeader(res.Header, time.Now())})
	}
	return res, err
}

// post counts a request once, even if it passes two of our transports, unless it is sent again between them.
func (w watched) post(req *http.Request) *http.Request {
	if w.passed != nil {
		if w.passed.Add(1) > 1 {
			w.posts.Add(1)
		}
		return req
	}
	w.posts.Add(1)
	return req.WithContext(context.WithValue(req.Context(), key{}, watched{w.Wire, new(atomic.Int32)}))
}

// errReplay ends a POST that net/http was about to send again because it carried an idempotency key.
var errReplay = errors.New("the connection broke, and net/http was kept from sending the POST once more, as it does where a request has an " +
	"Idempotency-Key header; whether the server got the first one is not known")

// once returns a copy that net/http does not replay for an Idempotency-Key, unless it was certainly not processed.
func once(req *http.Request) *http.Request {
	if req.GetBody == nil {
		return req
	}
	var promised atomic.Bool
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteHeaderField: func(key string, _ []string) {
			switch http.CanonicalHeaderKey(key) {
			case "Idempotency-Key", "X-Idempotency-Key":
				promised.Store(true)
			}
		},
	})
	out, again := req.Clone(ctx), req.GetBody
	out.GetBody = func() (body io.ReadCloser, err error) {
		if promised.Load() {
			return nil, errReplay
		}
		return again()
	}
	return out
}

// retryAfterHeader reads both forms of Retry-After (RFC 9110, 10.2.3), a date by the server's own clock.
func retryAfterHeader(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return duration(seconds * float64(time.Second))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return at.Sub(now)
}
