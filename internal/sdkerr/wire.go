package sdkerr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Wire watches what HTTP does with one call, since a repeated attempt may have reached the server before.
type Wire struct {
	tried atomic.Bool
	sent  atomic.Int32 // requests whose headers were written
	posts atomic.Int32 // by RoundTripper: requests that came to it

	answer atomic.Pointer[httpAnswer] // by RoundTripper: the last one
}

// An httpAnswer is what HTTP itself replied to a request.
type httpAnswer struct {
	status  int
	after   time.Duration
	session bool // the request named one

	read *excerpt // of the body of a refusal; nil for another answer
}

type key struct{}

// watched is what the context of a request carries: the wire of its call.
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
//
// A POST that has no effect, such as the first one of a session, follows one redirect to another path of the same host
// that keeps its method (307 or 308), and what is sent later goes there at once. A call is never sent twice.
func RoundTripper(base http.RoundTripper) http.RoundTripper { return &roundTripper{base: base} }

type roundTripper struct {
	base  http.RoundTripper
	moved sync.Map // the address that a server leads to, by the one that was asked
}

func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if from := req.Response; from != nil && from.Request != nil && from.Request.Method == http.MethodPost {
		if !followed(from, req) {
			// The call was approved for one server. Whether this one carried it out is not known.
			return nil, fmt.Errorf("the server answered a POST with %s to %s://%s%s, which is not followed; use that address, if it is the right one",
				from.Status, req.URL.Scheme, req.URL.Host, req.URL.EscapedPath())
		}
		t.moved.Store(from.Request.URL.String(), req.URL)
	} else if to, ok := t.moved.Load(req.URL.String()); ok {
		req = req.Clone(req.Context())
		req.URL, _ = to.(*url.URL)
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
		a := &httpAnswer{status: res.StatusCode, after: retryAfterHeader(res.Header, time.Now()), session: req.Header.Get("Mcp-Session-Id") != ""}
		if res.StatusCode >= http.StatusBadRequest && res.Body != nil {
			a.read = &excerpt{ReadCloser: res.Body}
			res.Body = a.read
		}
		w.answer.Store(a)
	}
	return res, err
}

// followed reports whether a POST that was redirected may be sent to where it leads.
func followed(from *http.Response, req *http.Request) bool {
	first := from.Request
	keeps := from.StatusCode == http.StatusTemporaryRedirect || from.StatusCode == http.StatusPermanentRedirect
	return keeps && first.Response == nil && req.URL.Scheme == first.URL.Scheme && req.URL.Host == first.URL.Host && harmless(req)
}

// harmless reports whether a POST can be sent twice without an effect: a handshake, a list or a ping.
func harmless(req *http.Request) bool {
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	var message struct {
		Method string `json:"method"`
	}
	if json.NewDecoder(io.LimitReader(body, 1<<20)).Decode(&message) != nil {
		return false
	}
	switch message.Method {
	case "initialize", "server/discover", "notifications/initialized", "ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return true
	}
	return false
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

// errReplay ends a POST that net/http was about to send again.
var errReplay = errors.New("the connection broke or the server reset it, and net/http was kept from sending the POST once more, as it does for " +
	"HTTP/2 and for a request with an Idempotency-Key header; whether the server executed the first one is not known")

// once returns a copy that net/http sends once. By itself it repeats a POST that has an Idempotency-Key, and over HTTP/2
// any that the server resets with REFUSED_STREAM or leaves out of a GOAWAY, though nothing proves that it was not
// executed. Names of fields begin with a colon over HTTP/2 alone. A request goes to a second connection only if no byte of it went to the first.
func once(req *http.Request) *http.Request {
	if req.GetBody == nil {
		return req
	}
	var promised atomic.Bool
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteHeaderField: func(key string, _ []string) {
			if strings.HasPrefix(key, ":") {
				promised.Store(true)
			}
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
