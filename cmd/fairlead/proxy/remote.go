package proxy

// A remote is the link with a server over streamable HTTP: each message of ours is a POST, the answer to a request is
// the response's body, as JSON or as a stream of events (see events.go), and what the server wants on its own comes on
// a stream that a GET holds open. Servers before revision 2026-07-28 may keep a session, whose ID every request
// repeats; later ones have none, and want headers that repeat the body (see mirror.go).

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"sync"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A remote is a link with a server over HTTP.
type remote struct {
	Server

	client *http.Client
	to     sink
	log    *slog.Logger
	ctx    context.Context // of what outlives a request
	stop   context.CancelFunc

	session shared[string] // the server's ID for it
	version shared[string] // that was agreed on

	posts sync.Map // the cancel func of each request, by its ID

	mu    sync.Mutex
	ended bool
	work  sync.WaitGroup
}

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	modern        = "2026-07-28" // the first revision without sessions
)

func newRemote(s Server, log *slog.Logger, to sink) *remote {
	through := s.RoundTripper
	if through == nil {
		through = pool
	}
	r := &remote{Server: s, client: &http.Client{Transport: mount.RoundTripper(through), CheckRedirect: sameHost}, to: to, log: log}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// pool keeps a connection for each concurrent call. The default keeps two to a server.
var pool = func() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	return t
}()

// sameHost keeps calls, and the keys in their headers, from being led elsewhere. Which POST is sent again to another path
// of the same host is decided by the transport: none that is a call.
func sameHost(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; via[0].Method == http.MethodPost && (len(via) > 1 || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme) {
		return fmt.Errorf("the server answered a POST with a redirect to %s, which is not followed; name that address if it is the right one", req.URL.Redacted())
	}
	if first := via[0].URL; req.URL.Host != first.Host || req.URL.Scheme != first.Scheme || len(via) > 3 {
		return fmt.Errorf("the server leads to %s://%s; name that address if it is the right one", req.URL.Scheme, req.URL.Host)
	}
	return nil
}

// send posts a message. A request's answer comes by itself, or why there is none.
func (r *remote) send(ctx context.Context, m *message) error {
	if m.Method == methodCancelled && r.hangUp(m) {
		return nil
	}
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return notSent(errStopped)
	}
	if m.isRequest() {
		ctx, cancel := context.WithCancel(ctx)
		r.posts.Store(m.id(), cancel) // before its cancellation can look for it
		r.work.Go(func() { r.post(ctx, cancel, m) })
		r.mu.Unlock()
		return nil
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, handshakePatience)
	defer cancel()
	res, err := r.do(ctx, http.MethodPost, m, "")
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusBadRequest {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxReason)) // without it there is no reason
		return r.turnedAway(res, body, false)
	}
	if m.Method == "notifications/initialized" {
		go r.listen() // until close
	}
	return nil
}

// hangUp ends a request of the revision in which that is how one is cancelled.
func (r *remote) hangUp(m *message) bool {
	if r.version.value() != "" {
		return false
	}
	id := member(m.Params, "requestId") // one that names nothing cancels nothing
	if cancel, ok := r.posts.Load(string(id)); ok {
		cancel.(context.CancelFunc)()
	}
	return true
}

// post makes a request and hands over what comes of it.
func (r *remote) post(ctx context.Context, cancel context.CancelFunc, m *message) {
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	defer r.posts.Delete(m.id())
	res, err := r.do(ctx, http.MethodPost, m, "")
	if err != nil {
		r.to.failed(m.id(), err)
		return
	}
	if id := res.Header.Get(headerSession); id != "" && m.Method == "initialize" {
		r.session.Store(id)
	}
	if err := r.answer(ctx, m, res); err != nil {
		r.to.failed(m.id(), err)
	}
}

// answer reads the answer to a request, and what comes with it.
func (r *remote) answer(ctx context.Context, m *message, res *http.Response) error {
	defer func() { _ = res.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/event-stream" && res.StatusCode < http.StatusBadRequest {
		return r.stream(ctx, m, res)
	}
	h := r.to.hold(ctx)
	defer h.handed()
	body, err := readBody(res, h)
	if err != nil {
		return err
	}
	all, err := parseAll(body)
	if res.StatusCode >= http.StatusBadRequest {
		answered := slices.ContainsFunc(all, func(got *message) bool { return got.answers(m) })
		if why := r.turnedAway(res, body, answered); why.ended || !answered {
			return why
		}
	}
	if err == nil && r.take(m, all, h) {
		return nil
	}
	return fmt.Errorf("the server answered with something else than MCP: %s", safetext.Line(safetext.Cut(string(body), 200)))
}

// readBody reads what a server answered, for which it takes room first.
func readBody(res *http.Response, h *held) ([]byte, error) {
	tooLong := fmt.Errorf("the answer has more than %d bytes", maxLine)
	if n := res.ContentLength; n >= 0 {
		if n > maxLine {
			return nil, tooLong
		}
		if err := h.grow(n); err != nil {
			return nil, err
		}
		body := make([]byte, n)
		_, err := io.ReadFull(res.Body, body)
		return body, err
	}
	body, part := []byte(nil), make([]byte, 32<<10)
	for {
		n, err := res.Body.Read(part)
		if len(body)+n > maxLine {
			return nil, tooLong
		}
		if body, err = extend(body, part[:n], h, err); err == io.EOF { //nolint:errorlint // readers return it as it is
			return body, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// take passes on messages that came for a request, and reports whether its answer was among them. They have one room.
func (r *remote) take(m *message, all []*message, h *held) (answered bool) {
	for _, got := range all {
		got.held = h
		if got.answers(m) {
			answered = true
			if m.Method == "initialize" && got.Error == nil {
				r.version.Store(textOf(got.Result, "protocolVersion")) // the client reports one that is not valid
			}
		}
		r.to.message(got, m.id())
	}
	return answered
}

// do makes an HTTP request: with a message, or with none to open a stream, after the event last, or to end the session.
// An error has no secrets of the URL in it.
func (r *remote) do(ctx context.Context, method string, m *message, last string) (*http.Response, error) {
	var body io.Reader
	if m != nil {
		body = bytes.NewReader(m.encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, body)
	if err != nil {
		return nil, notSent(err)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Accept", "text/event-stream")
	if m != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	if session := r.session.value(); session != "" {
		req.Header.Set(headerSession, session)
	}
	version := r.version.value()
	if m != nil {
		version = mirror(req.Header, m, version)
	}
	if version != "" {
		req.Header.Set(headerVersion, version)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return nil, redact.Error(err)
	}
	return res, nil
}

// end has nothing more sent, and reports whether it is the first to do so.
func (r *remote) end() (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, r.ended = !r.ended, true
	return first
}

// turnedAway returns the error of a request that was answered by a status of HTTP. If the server does not know the
// session any more, nothing is sent in it from then on. Requests that were sent in it before get their own answers.
func (r *remote) turnedAway(res *http.Response, body []byte, answered bool) *httpError {
	why := r.refusal(res, body, answered)
	if why.ended {
		r.gone(why)
	}
	return why
}

// refusal returns the error of a status of HTTP, and whether it tells that the session has ended.
func (r *remote) refusal(res *http.Response, body []byte, answered bool) *httpError {
	why := &httpError{status: res.Status, reason: reasonIn(body)}
	why.ended = r.session.value() != "" && (res.StatusCode == http.StatusNotFound ||
		res.StatusCode == http.StatusBadRequest && !answered && aboutSession(why.reason))
	return why
}

// gone ends the session that the server no longer has.
func (r *remote) gone(why *httpError) {
	if !r.end() {
		return
	}
	go func() {
		r.work.Wait()
		r.stop()
	}()
	r.to.expired(why)
}

// close ends the session by a DELETE.
func (r *remote) close() {
	if r.end() && r.session.value() != "" {
		ctx, cancel := context.WithTimeout(context.Background(), endPatience)
		if res, err := r.do(ctx, http.MethodDelete, nil, ""); err == nil {
			_ = res.Body.Close()
		}
		cancel()
	}
	r.stop()
	r.work.Wait()
}
