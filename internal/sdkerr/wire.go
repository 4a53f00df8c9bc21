package sdkerr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Wire watches what HTTP does with one call. Its errors do not tell how far it came:
// what repeats it may have brought it to a server before the last attempt failed.
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

// key is that of the wire, and of the request that is on its way.
type key struct{}

type watched struct {
	*Wire

	passed *atomic.Int32 // how many transports of ours further in the request came to, nil before the first
}

// Watch returns a context for one call, and what HTTP does with it. A session
// that speaks something else leaves the Wire untouched.
func Watch(ctx context.Context) (context.Context, *Wire) {
	w := new(Wire)
	return httptrace.WithClientTrace(context.WithValue(ctx, key{}, watched{Wire: w}), &httptrace.ClientTrace{
		GetConn: func(string) { w.tried.Store(true) },
		// A connection may hold the headers back until the body comes, so from here
		// on nobody knows.
		WroteHeaders: func() { w.sent.Add(1) },
	}), w
}

// left reports whether the call may have arrived anywhere.
func (w *Wire) left() bool { return w.sent.Load() > 0 }

// once reports whether at most one request left: only then does the last answer
// speak for the whole call.
func (w *Wire) once() bool { return w.sent.Load() <= 1 && w.posts.Load() <= 1 }

// status returns the HTTP status of the last answer, and how long it asked to be
// left alone; 0 where no RoundTripper of ours saw it.
func (w *Wire) status() (status int, after time.Duration) {
	if a := w.answer.Load(); a != nil {
		return a.status, a.after
	}
	return 0, 0
}

// RoundTripper returns a transport that tells the call's Wire what HTTP answered,
// and keeps net/http from sending a POST a second time by itself: when a connection
// broke, and when the server redirects it.
func RoundTripper(base http.RoundTripper) http.RoundTripper { return roundTripper{base} }

type roundTripper struct{ base http.RoundTripper }

func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if from := req.Response; from != nil && from.Request != nil && from.Request.Method == http.MethodPost {
		return nil, &RedirectError{Status: from.Status, To: req.URL.Scheme + "://" + req.URL.Host}
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

// post counts a request. One that passes a second transport of ours further in is
// still the same, unless something between the two sends it again.
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

// A RedirectError ends a POST that the server answered with a redirect. It is not followed:
// one call is handed over once, to the server that it was approved for. Whether the server
// carried it out before it answered is not known.
type RedirectError struct {
	Status string // "307 Temporary Redirect"
	To     string // scheme and host
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server answered a POST with %s to %s, which is not followed; use the address that it leads to, if it is the right one", e.Status, e.To)
}

// A ReplayError ends a POST that net/http was about to send again because it
// carried an idempotency key.
type ReplayError struct{}

func (ReplayError) Error() string {
	return "the connection broke, and net/http was kept from sending the POST once more, as it does where a request has an " +
		"Idempotency-Key header; whether the server got the first one is not known"
}

// once returns a copy of the request that net/http does not replay for a header that
// promises idempotence, since that is for the chain to decide. A transport further in may
// add the header. What was certainly not processed may be replayed.
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
			return nil, ReplayError{}
		}
		return again()
	}
	return out
}

// retryAfterHeader reads Retry-After in both of its forms (RFC 9110, 10.2.3). A date is
// read against the server's own clock where it tells it.
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
