package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
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
	open    func(to sink) (link, error)
	log     *slog.Logger

	mu         sync.Mutex
	link       link
	generation int           // of links
	reviving   bool          // the link cannot be used
	up         chan struct{} // closed when it can be used again
	closed     bool
	began      time.Time // the last link
	version    string    // that it speaks; "" without an initialize
	wait       *backoff.ExponentialBackOff
	late       map[string]bool // what was listed without it: "tools", "prompts", …

	asked   map[string]waiting  // our own requests
	relayed map[string]*message // the client's, by their IDs

	tools         toolsOf
	subscriptions subscriptions
}

type answerOf struct {
	m   *message
	err error
}

// waiting is where an answer is waited for. It has room for one; a second is left out.
type waiting chan answerOf

func (w waiting) give(a answerOf) {
	select {
	case w <- a:
	default:
	}
}

func newServer(s Server, session *session, open func(to sink) (link, error), log *slog.Logger) *server {
	wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(500*time.Millisecond), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	return &server{
		Server: s, session: session, open: open, log: log, wait: wait,
		asked: make(map[string]waiting), relayed: make(map[string]*message), late: make(map[string]bool),
	}
}

// dial opens a link; the lock is held.
func (s *server) dial() error {
	s.generation++
	generation := s.generation
	link, err := s.open(sink{message: s.receive, failed: s.failed, ended: func(err error) { s.lost(generation, err) }})
	if err != nil {
		return err
	}
	s.link, s.began = link, time.Now()
	return nil
}

// ready waits until the server is there, and returns the way to it.
func (s *server) ready(ctx context.Context) (link, error) {
	for {
		s.mu.Lock()
		l, up, away := s.link, s.up, s.reviving
		s.mu.Unlock()
		if !away {
			return l, nil
		}
		select {
		case <-up: // and maybe away again
		case <-ctx.Done():
			return nil, notSent(context.Cause(ctx))
		case <-s.session.ctx.Done():
			return nil, notSent(errStopped)
		}
	}
}

// ask makes a request of ours once there is a server, and waits for its result. Messages about it
// belong to the client's request about.
func (s *server) ask(ctx context.Context, method string, params json.RawMessage, about string) (json.RawMessage, error) {
	l, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	return s.askOn(ctx, l, method, params, about)
}

// askOn makes a request of ours on a link. It is known from then on: what waits for a link ends with none.
func (s *server) askOn(ctx context.Context, l link, method string, params json.RawMessage, about string) (json.RawMessage, error) {
	m, err := s.exchange(ctx, l, method, params, about)
	if err != nil {
		return nil, err
	}
	return m.Result, nil
}

// exchange is askOn, and returns the whole answer.
func (s *server) exchange(ctx context.Context, l link, method string, params json.RawMessage, about string) (*message, error) {
	id := s.session.proxy.newID()
	m := &message{ID: quoted(id), Method: method, Params: params}
	if method == methodCallTool {
		s.describe(trace.SpanFromContext(ctx), l, id, params)
	}
	answered := make(waiting, 1)
	s.mu.Lock()
	s.asked[m.id()] = answered
	s.mu.Unlock()
	s.session.origin.Store(m.id(), about)
	defer func() {
		s.mu.Lock()
		delete(s.asked, m.id())
		s.mu.Unlock()
		s.session.origin.Delete(m.id())
	}()
	if err := l.send(ctx, m); err != nil {
		return nil, err
	}
	select {
	case got := <-answered:
		if got.err != nil {
			return nil, got.err
		}
		s.subscriptions.note(m, got.m)
		return got.m, got.m.err()
	case <-ctx.Done():
		s.cancel(ctx, l, m)
		return nil, context.Cause(ctx)
	}
}

// describe adds the details of the connection to the span of an attempt, by OpenTelemetry's conventions for MCP.
func (s *server) describe(span trace.Span, l link, id string, params json.RawMessage) {
	if !span.IsRecording() {
		return
	}
	known := map[string]string{"jsonrpc.request.id": id, "mcp.protocol.version": revision(params, s.agreed())}
	if r, ok := l.(*remote); ok {
		known["network.transport"], known["network.protocol.name"], known["mcp.session.id"] = "tcp", "http", r.sessionID()
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
		s.log.DebugContext(ctx, "proxy: a cancellation did not reach the server", slog.String("server", s.Name), slog.Any("err", err))
	}
}

// relay passes on a message of the client's as it is. While the server is away a request waits, and
// anything else, which was meant for the server before it, is left out.
func (s *server) relay(ctx context.Context, m *message) {
	s.mu.Lock()
	l, away := s.link, s.reviving
	if !away && m.isRequest() {
		s.relayed[m.id()] = m
	}
	s.mu.Unlock()
	if away {
		if m.isRequest() {
			s.session.begin(m, answerBy(func(ctx context.Context, m *message) (json.RawMessage, error) {
				return s.ask(ctx, m.Method, m.Params, m.id())
			}))
		}
		return
	}
	err := l.send(ctx, m)
	if err == nil || !m.isRequest() {
		return
	}
	s.mu.Lock()
	_, open := s.relayed[m.id()]
	delete(s.relayed, m.id())
	s.mu.Unlock()
	if open {
		s.session.giveUp(m, err)
	}
}

func (s *server) receive(m *message, about string) {
	if m.Method != "" {
		s.session.fromServer(s, m, about)
		return
	}
	s.mu.Lock()
	asked, ours := s.asked[m.id()]
	request, theirs := s.relayed[m.id()]
	delete(s.relayed, m.id())
	s.mu.Unlock()
	switch {
	case ours:
		asked.give(answerOf{m: m})
	case theirs:
		s.subscriptions.note(request, m)
		s.session.answered(s, request, m)
	default:
		s.log.Debug("proxy: an answer that nobody waits for was left out", slog.String("server", s.Name))
	}
}

func (s *server) failed(id string, err error) {
	s.mu.Lock()
	asked := s.asked[id]
	request := s.relayed[id]
	delete(s.relayed, id)
	s.mu.Unlock()
	switch {
	case asked != nil:
		asked.give(answerOf{err: err})
	case request != nil && s.session.ctx.Err() == nil:
		s.session.giveUp(request, fmt.Errorf("proxy: the server %q gave no answer: %w", s.Name, err))
		if _, dialed := errors.AsType[*net.OpError](err); dialed && !s.session.greeted() {
			s.session.stop(&UnreachableError{Server: s.Name, Err: err})
		}
	}
}

func (s *server) agree(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

func (s *server) agreed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// said is what the server last wrote to its standard error.
func (s *server) said() string {
	if s.Stderr == nil {
		return ""
	}
	return s.Stderr.LastWords()
}

// wireError is an error of ours as the client gets it.
func wireError(err error) *jsonrpc.Error {
	if reply, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return reply
	}
	return &jsonrpc.Error{Code: codeGone, Message: cmp.Or(err.Error(), "proxy: it failed")}
}
