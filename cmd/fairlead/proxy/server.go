package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// notSent marks the end of what certainly did not arrive.
func notSent(err error) error { return &middleware.NotSentError{Err: err} }

// codeGone is what SDKs call a closed connection.
const codeGone = -32000

// A server is the way to one server for one client. It outlives processes and connections.
type server struct {
	Server

	session *session
	log     *slog.Logger

	mu         sync.Mutex
	link       link
	generation int           // of links
	away       chan struct{} // closed when the link can be used again; nil if it can
	closed     bool
	began      time.Time // the last link
	wait       *backoff.ExponentialBackOff

	version       shared[string] // that it speaks; "" without an initialize
	late          sync.Map       // what was listed without it: "tools", "prompts", …
	requests      requests       // that it has to answer
	tools         toolsOf
	subscriptions subscriptions
}

// newServer returns a server without a link. Restarts wait half a second at first, and half a minute at most.
func newServer(s Server, session *session) *server {
	wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(500*time.Millisecond), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	return &server{Server: s, session: session, log: session.proxy.log.With("server", s.Name), wait: wait}
}

// OverHTTP reports whether the server is reached over HTTP, so that the catalog watches what HTTP reports of a call.
func (s *server) OverHTTP() bool { return s.URL != "" }

// dial opens a link. It is nil if the server is closed.
func (s *server) dial() (link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil //nolint:nilnil // a closed server has no link, and that is not a failure
	}
	s.generation++
	generation := s.generation
	link, err := s.open(s.session.proxy.log, sink{
		message: s.receive, failed: s.failed,
		ended:   func(err error) { s.lost(generation, err) },
		expired: func(err error) { s.expired(generation, err) },
		room:    s.session.proxy.room, user: s.session.caller.User,
	})
	if err != nil {
		return nil, err
	}
	s.link, s.began = link, time.Now()
	return link, nil
}

// ready waits until the server is there, and returns the way to it.
func (s *server) ready(ctx context.Context) (link, error) {
	for {
		s.mu.Lock()
		l, away := s.link, s.away
		s.mu.Unlock()
		if away == nil {
			return l, nil
		}
		select {
		case <-away: // and maybe away again
		case <-ctx.Done():
			return nil, notSent(context.Cause(ctx))
		case <-s.session.ctx.Done():
			return nil, notSent(errStopped)
		}
	}
}

// ask makes the client's request as one of ours once there is a server, and waits for its result.
func (s *server) ask(ctx context.Context, m *message) (json.RawMessage, error) {
	if err := s.subscriptions.room(m); err != nil {
		return nil, err
	}
	answer, err := s.exchangeAgain(ctx, m.Method, m.Params, m.id())
	if err != nil {
		return nil, err
	}
	return answer.Result, nil
}

// exchangeAgain is exchange for any request but a call. It makes a request once more, in the next session, that the server has
// turned away because the session was over.
func (s *server) exchangeAgain(ctx context.Context, method string, params json.RawMessage, about string) (*message, error) {
	answer, err := s.exchange(ctx, nil, method, params, about)
	if sessionOver(err) && ctx.Err() == nil {
		return s.exchange(ctx, nil, method, params, about)
	}
	return answer, err
}

// sessionOver reports whether a request was not executed since its session was over.
func sessionOver(err error) bool {
	if errors.Is(err, errStopped) {
		return middleware.NotSent(err)
	}
	status, ok := errors.AsType[*httpError](err)
	return ok && status.ended
}

// exchange makes a request of ours on a link, or once there is one if it is nil, and returns the answer. What waits
// for it ends with the link. Messages about it belong to the client's request about.
func (s *server) exchange(ctx context.Context, l link, method string, params json.RawMessage, about string) (*message, error) {
	var err error
	if l == nil {
		if l, err = s.ready(ctx); err != nil {
			return nil, err
		}
	}
	return s.await(ctx, l, &message{ID: newID(), Method: method, Params: params}, about)
}

// exchangeCall makes the request of a call, as exchange does.
func (s *server) exchangeCall(ctx context.Context, l link, c *clientCall, call middleware.Call, method string, params json.RawMessage) (*message, error) {
	m := &message{ID: newID(), Method: method, Params: params}
	s.describe(trace.SpanFromContext(ctx), l, m)
	if s.URL != "" && method == methodCallTool {
		m.schema = member(s.tools.text(call.Tool.Digest), "inputSchema")
	}
	return s.await(ctx, l, m, c.about)
}

// await sends a request and waits for its answer.
func (s *server) await(ctx context.Context, l link, m *message, about string) (*message, error) {
	return s.requests.await(ctx, &request{message: m, server: s, about: about}, func() error { return l.send(ctx, m) }, func() { s.cancel(ctx, l, m) })
}

// describe adds the details of the connection to the span of an attempt, by OpenTelemetry's conventions for MCP.
func (s *server) describe(span trace.Span, l link, m *message) {
	if !span.IsRecording() {
		return
	}
	known := map[string]string{"jsonrpc.request.id": strings.Trim(m.id(), `"`), "mcp.protocol.version": revision(m.Params, s.version.value())}
	if r, ok := l.(*remote); ok {
		known["network.transport"], known["network.protocol.name"], known["mcp.session.id"] = "tcp", "http", r.session.value()
	} else if len(s.Command) > 0 {
		known["network.transport"] = "pipe"
	}
	for key, value := range known {
		if value != "" {
			span.SetAttributes(attribute.String(key, value))
		}
	}
}

// cancel cancels a request at the server.
func (s *server) cancel(ctx context.Context, l link, m *message) {
	why := context.Cause(ctx).Error()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer stop()
	if err := l.send(ctx, cancellation(m.ID, why)); err != nil {
		s.log.DebugContext(ctx, "proxy: a cancellation did not reach the server", slog.Any("err", err))
	}
}

// relay passes on a message of the client's as it is. While the server is away a request waits, and
// anything else, which was meant for the server before it, is left out.
func (s *server) relay(ctx context.Context, m *message) {
	s.mu.Lock()
	l, away := s.link, s.away != nil
	s.mu.Unlock()
	switch {
	case away && m.isRequest():
		s.session.begin(m, answerBy(s.ask))
		return
	case away:
		return
	case m.isRequest():
		if err := s.subscriptions.room(m); err != nil {
			s.session.giveUp(m, err)
			return
		}
		r := &request{message: m, server: s, about: m.id(), passed: m.Method != methodListen}
		if r.passed {
			s.session.passed.Add(1)
		}
		s.requests.store(m.id(), r)
	}
	if err := l.send(ctx, m); err != nil && m.isRequest() {
		s.unanswered(s.requests.take(m.id()), err)
	}
}

// unanswered ends a request that gets no answer on its link. One that was passed on, and that the server has turned away
// because the session was over, is made again in the next session.
func (s *server) unanswered(r *request, err error) {
	if r != nil && r.answer == nil && sessionOver(err) && s.session.ctx.Err() == nil {
		s.session.begin(r.message, answerBy(s.ask))
		if r.passed {
			s.session.passed.Done()
		}
		return
	}
	r.end(nil, err)
}

// receive takes a message of the server.
func (s *server) receive(m *message, about string) {
	if m.Method != "" {
		if err := m.odds(""); err != nil {
			s.refuse(m, err)
			return
		}
		s.takeIn(m.Method, m)
		s.session.fromServer(s, m, about)
		return
	}
	s.session.form(s, m)
	r := s.requests.take(m.id())
	if other := otherForm(m.id()); r == nil && other != "" {
		if r = s.requests.take(other); r != nil {
			s.log.Warn("proxy: the server has answered a request under its id in another form; the answer was taken, but a stricter client would wait for ever",
				slog.String("method", r.Method), slog.String("asked", other), slog.String("answered", m.id()))
			own := *m
			own.ID = r.ID
			m = &own
		}
	}
	switch {
	case r != nil:
		s.answered(r, m)
	case strings.HasPrefix(m.id(), `"`+idPrefix): // of one that was cancelled, or took too long, and has happened now
		s.session.proxy.changed(s.Name)
		s.log.Debug("proxy: an answer that nobody waits for was left out")
	default:
		s.log.Warn("proxy: the server has answered a request that it was not sent; the answer was left out",
			slog.String("id", safetext.Line(safetext.Cut(m.id(), 100))))
	}
}

// answered ends a request with its answer, if that can be read in one way only.
func (s *server) answered(r *request, m *message) {
	if r.Method == methodListTools { // the list is read a tool at a time
		s.takeIn(r.Method, m)
		r.end(m, m.odd)
		return
	}
	if err := m.odds(r.Method); err != nil {
		r.end(nil, &ambiguousError{fmt.Errorf("proxy: the answer of the server %q was not passed on: %w", s.Name, err), slices.Concat(m.Result, m.Error)})
		return
	}
	s.takeIn(r.Method, m)
	r.end(m, nil)
}

// refuse does not pass on a server's request or notification, and answers a request.
func (s *server) refuse(m *message, why error) {
	s.log.Warn("proxy: a message of the server's was not passed on", slog.String("method", safetext.Line(safetext.Cut(m.Method, 100))), slog.Any("err", why))
	if m.ID == nil {
		return
	}
	s.relay(s.session.ctx, m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "proxy: it was not passed on: " + why.Error()}))
}

// failed ends a request that gets no answer.
func (s *server) failed(id string, err error) {
	r := s.requests.take(id)
	if r == nil || r.answer != nil {
		r.end(nil, err)
		return
	}
	s.unanswered(r, fmt.Errorf("proxy: the server %q gave no answer: %w", s.Name, err))
	if _, dialed := errors.AsType[*net.OpError](err); dialed && !s.session.greeted.Load() {
		s.session.stop(&UnreachableError{Server: s.Name, Err: err})
	}
}

// close ends the link for good.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// wireError is an error of ours as the client gets it.
func wireError(err error) *jsonrpc.Error {
	if reply, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return reply
	}
	return &jsonrpc.Error{Code: codeGone, Message: cmp.Or(err.Error(), "proxy: it failed")}
}
