package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// A session is one client, with servers of its own. Only tools/list and tools/call go through the chain.
type session struct {
	proxy  *Proxy
	scope  string
	caller access.Caller // over HTTP
	// out writes a message to the client; about is the client's request that it belongs to, "" for none.
	out    func(m *message, about string)
	ctx    context.Context
	stop   context.CancelCauseFunc
	tokens sync.Map // a progress token → the ID of the client's request that brought it

	servers []*server
	tools   tools
	owners  owners
	calls   sync.WaitGroup
	next    chan func() // for one of the goroutines that wait for work
	idle    atomic.Int64

	introduced context.Context // done when a client's initialize was answered for several, or with ctx
	introduce  context.CancelFunc

	hello   shared[json.RawMessage]            // of the client's initialize
	client  shared[mcp.Meta]                   // the client's part of it
	version shared[string]                     // that was agreed on; "" without initialize
	level   shared[json.RawMessage]            // of the client's logging/setLevel
	meta    shared[map[string]json.RawMessage] // the client's last description of itself, if its requests carry one

	mu       sync.Mutex
	running  map[string]*underWay // tools/call, by the client's ID, or by that of its task
	tasks    map[string]*task     // by their IDs
	stopping bool                 // no call goes to a server any more

	// requests are those that the client has to answer: ours, and those of servers, which it gets under
	// IDs of ours, so that no server can ask in our name.
	requests requests

	greeted atomic.Bool // a server has answered something
}

// An underWay is a request that the chain has.
type underWay struct {
	about  string // the client's request, by its ID
	cancel context.CancelCauseFunc
	last   atomic.Pointer[written] // what a server answered last

	// The session's mutex guards what follows.
	sent bool  // to a server
	over bool  // it has ended
	task *task // that it became
}

type underWayKey struct{}

// underWayIn returns the request that a context is of. What belongs to none gets one of its own.
func underWayIn(ctx context.Context) *underWay {
	if u, ok := ctx.Value(underWayKey{}).(*underWay); ok {
		return u
	}
	return new(underWay)
}

var (
	errClientGone = errors.New("proxy: the client has gone")
	errStopping   = errors.New("proxy: it is stopping")
)

func (p *Proxy) newSession(scope string, caller access.Caller, out func(m *message, about string)) (*session, error) {
	s := &session{
		proxy: p, scope: scope, caller: caller, out: out,
		running: make(map[string]*underWay),
		next:    make(chan func()), tasks: make(map[string]*task),
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.introduced, s.introduce = context.WithCancel(s.ctx)
	for _, one := range p.o.Servers {
		s.servers = append(s.servers, newServer(one, s))
	}
	s.tools.session, s.tools.ended = s, make(chan struct{})
	for _, one := range s.servers {
		if _, err := one.dial(); err != nil { // the client shakes hands on it
			s.close(err)
			return nil, &UnreachableError{Server: one.Name, Err: err}
		}
	}
	return s, nil
}

// close ends everything that the client began: its calls, their questions, and its servers.
func (s *session) close(why error) {
	s.mu.Lock()
	s.stop(why) // under the lock, so that no call begins that would not be waited for
	s.mu.Unlock()
	var ending sync.WaitGroup
	for _, one := range s.servers {
		ending.Go(one.close)
	}
	ending.Wait()
	s.calls.Wait()
	s.tools.close()
	if s.caller.User == "" { // or the scope is that of the user's other sessions too
		s.proxy.tracker.End(s.scope)
	}
}

// drain takes no more calls, ends those that no server has, and waits for the others until limit.
func (s *session) drain(limit time.Duration) {
	s.mu.Lock()
	s.stopping = true
	for _, u := range s.running {
		if !u.sent {
			u.cancel(errStopping)
		}
	}
	s.mu.Unlock()
	over := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-s.ctx.Done():
	case <-time.After(limit):
	}
}

// send returns an error where a call must not go to a server any more.
func (s *session) send(u *underWay) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return notSent(errStopping)
	}
	u.sent = true
	return nil
}

// listens reports whether the client waits for the answer to a request with that context.
func listens(ctx context.Context) bool {
	return ctx.Err() == nil || errors.Is(context.Cause(ctx), errStopping)
}

func (s *session) reply(m *message) { s.out(m, m.id()) }

// giveUp answers a request of the client with an error.
func (s *session) giveUp(request *message, err error) {
	s.forgetToken(request)
	s.reply(request.failTo(wireError(err)))
}

// fromClient takes a message of the client's. It waits for nothing but a server that reads slowly.
func (s *session) fromClient(m *message) {
	if why := m.stray(); why != "" {
		s.stray(m, why)
		return
	}
	if m.Method != "" {
		s.note(m)
	}
	switch {
	case m.Method == "":
		s.fromPerson(m)
	case m.Method == methodCallTool && m.isRequest():
		s.begin(m, s.callTool)
	case m.Method == methodListTools && m.isRequest():
		s.begin(m, s.listTools)
	case m.Method == methodCancelled:
		s.cancelled(m)
	case s.aboutTask(m):
	default:
		s.route(m)
	}
}

// stray refuses a message that no server may see.
func (s *session) stray(m *message, why string) {
	err := invalid("proxy: " + why + "; the message was not sent on")
	s.proxy.log.Warn("proxy: a message of the client's was refused", slog.String("method", safetext.Line(safetext.Cut(m.Method, 100))), slog.String("why", why))
	if m.chained() == methodCallTool {
		s.recordRefusal(s.ctx, m, textOf(m.Params, "name"), nil, err)
	}
	if m.ID != nil {
		s.reply(m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}))
	}
}

const (
	methodCallTool  = "tools/call"
	methodListTools = "tools/list"
	methodSetLevel  = "logging/setLevel"
	methodDiscover  = "server/discover"
)

// note keeps what has to be known of a request later on.
func (s *session) note(m *message) {
	if token := m.meta["progressToken"]; token != nil && m.isRequest() {
		s.tokens.Store(string(token), m.id())
	}
	if m.meta[mcp.MetaKeyProtocolVersion] != nil {
		meta := make(map[string]json.RawMessage)
		for _, key := range []string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities} {
			if m.meta[key] != nil {
				meta[key] = m.meta[key]
			}
		}
		s.meta.Store(meta)
	}
	switch m.Method {
	case "initialize":
		client, hello := make(mcp.Meta), members(m.Params)
		for key, member := range map[string]string{mcp.MetaKeyClientCapabilities: "capabilities", mcp.MetaKeyClientInfo: "clientInfo"} {
			var v any
			if json.Unmarshal(hello[member], &v) == nil {
				client[key] = v
			}
		}
		s.client.Store(client)
		s.hello.Store(m.Params)
	case methodSetLevel:
		s.level.Store(m.Params)
	}
}

func (s *session) forgetToken(m *message) {
	if token := m.meta["progressToken"]; token != nil {
		s.tokens.CompareAndDelete(string(token), m.id())
	}
}

func metaOf(params json.RawMessage) map[string]json.RawMessage {
	return members(members(params)["_meta"])
}

func (s *session) route(m *message) {
	if len(s.servers) == 1 {
		s.servers[0].relay(s.ctx, m)
		return
	}
	s.routeSeveral(m)
}

// answered hands a server's answer on to the client, and learns what was agreed.
func (s *session) answered(from *server, request, m *message) {
	if request.Method == "initialize" && m.Error == nil {
		version := textOf(m.Result, "protocolVersion") // the client reports one that is none
		s.version.Store(version)
		from.version.Store(version)
	}
	if request.Method == methodDiscover && m.Error == nil && s.proxy.o.Confirm != nil {
		m.Result = declared(m.Result)
	}
	s.forgetToken(request)
	s.reply(m)
}

// fromServer hands what a server wants on to the client.
func (s *session) fromServer(from *server, m *message, about string) {
	if r := from.requests.find(about); r != nil {
		about = r.about
	}
	if m.isRequest() {
		id := s.proxy.newID()
		s.requests.Store(string(id), &request{message: m, server: from})
		s.out(&message{ID: id, Method: m.Method, Params: m.Params}, about)
		return
	}
	if id := m.meta[mcp.MetaKeySubscriptionID]; id != nil {
		if r := from.requests.find(string(id)); r != nil && r.answer != nil {
			about = r.about
			m.meta[mcp.MetaKeySubscriptionID] = json.RawMessage(about)
			m = m.with("_meta", m.meta)
		}
	}
	switch m.Method {
	case "notifications/tools/list_changed":
		s.tools.announced(from)
	case "notifications/tasks":
		s.learn(m.Params)
	case "notifications/progress":
		if id, ok := s.tokens.Load(string(members(m.Params)["progressToken"])); ok {
			about = id.(string)
		}
	case methodCancelled:
		m = s.renamed(from, m)
	}
	s.out(m, about)
}

// renamed is a server's cancellation of a request that the client has under our ID.
func (s *session) renamed(from *server, m *message) *message {
	at := string(members(m.Params)["requestId"])
	for id, r := range s.requests.Range {
		if r := r.(*request); r.server == from && r.id() == at {
			s.requests.Delete(id)
			return m.with("requestId", json.RawMessage(id.(string)))
		}
	}
	return m
}

// takeBack cancels the questions of a server that has gone: the next one counts its requests anew,
// and must not get an answer to another question.
func (s *session) takeBack(from *server) {
	for id, r := range s.requests.Range {
		if r.(*request).server == from {
			s.requests.Delete(id)
			s.out(cancellation(json.RawMessage(id.(string)), "the server went away"), "")
		}
	}
}

// fromPerson takes an answer of the client's: to a question of ours, or to a server's.
func (s *session) fromPerson(m *message) {
	r := s.requests.take(m.id())
	switch {
	case r == nil:
		s.proxy.log.Debug("proxy: an answer of the client's that nobody waits for was left out")
	case r.answer != nil:
		r.answer <- answerOf{m: m}
	default:
		r.server.relay(s.ctx, &message{ID: r.ID, Result: m.Result, Error: m.Error})
	}
}

// begin answers a request on a goroutine of its own, until it is done or cancelled.
func (s *session) begin(m *message, answer func(ctx context.Context, m *message) (*message, bool)) {
	if why := s.start(m, answer); why != "" {
		s.reply(m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}))
	}
}

func (s *session) start(m *message, answer func(ctx context.Context, m *message) (*message, bool)) (refused string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, twice := s.running[m.id()]
	switch {
	case s.ctx.Err() != nil: // nobody waits for an answer, and close not for a call
		return ""
	case twice:
		return "proxy: a request with this id is under way already"
	case s.stopping:
		return "proxy: it is stopping, and takes no more requests; this one was not sent"
	case len(s.running) >= maxRunning:
		return "proxy: too many requests are under way; wait for one of them"
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	u := &underWay{about: m.id(), cancel: cancel}
	ctx = context.WithValue(ctx, underWayKey{}, u)
	s.running[m.id()] = u
	s.calls.Add(1)
	s.work(func() {
		defer s.calls.Done()
		defer cancel(nil)
		res, ok := answer(ctx, m)
		for again := s.more(ctx, u, m, res); again != nil; again = s.more(ctx, u, m, res) {
			res, ok = answer(ctx, again)
		}
		if !s.ended(u, m, res) {
			return
		}
		s.forgetToken(m)
		if ok && listens(ctx) { // one that was cancelled is not answered
			s.reply(res)
		}
	})
	return ""
}

// maxIdle is how many goroutines of a session wait for work.
const maxIdle = 64

// work calls do on a goroutine that has worked before, since its stack has grown already, or on a new one.
func (s *session) work(do func()) {
	select {
	case s.next <- do:
		return
	default:
	}
	go func() {
		for do != nil {
			do()
			do = nil
			if s.idle.Add(1) <= maxIdle {
				select {
				case do = <-s.next:
				case <-s.ctx.Done():
				}
			}
			s.idle.Add(-1)
		}
	}()
}

// answerBy makes an answer of what came of a request.
func answerBy(ask func(context.Context, *message) (json.RawMessage, error)) func(context.Context, *message) (*message, bool) {
	return func(ctx context.Context, m *message) (*message, bool) {
		result, err := ask(ctx, m)
		if err != nil {
			return m.failTo(wireError(err)), true
		}
		return m.replyTo(result), true
	}
}

const maxRunning = 10_000

// cancelled ends a call, or passes the cancellation on to the server.
func (s *session) cancelled(m *message) {
	id := members(m.Params)["requestId"] // one that names nothing cancels nothing
	s.mu.Lock()
	u := s.running[string(id)]
	s.mu.Unlock()
	if u != nil {
		u.cancel(&cancelledError{textOf(m.Params, "reason")})
		return
	}
	s.route(m)
}

type cancelledError struct{ reason string }

func (e *cancelledError) Error() string {
	if e.reason == "" {
		return "proxy: the client has cancelled the call"
	}
	return "proxy: the client has cancelled the call: " + e.reason
}

// Is makes it an end of the context that the rooms know.
func (e *cancelledError) Is(target error) bool { return target == context.Canceled }

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

// requests are those that one side has to answer, by their IDs there.
type requests struct{ sync.Map }

// A request is one of ours, or one that was passed on.
type request struct {
	*message

	server *server       // that has to answer it, or that asked it of the client
	about  string        // the client's request that it belongs to, by its ID
	answer chan answerOf // to one of ours; it has room for one, and gets one
}

type answerOf struct {
	m   *message
	err error
}

func (r *requests) find(id string) *request {
	one, _ := r.Load(id)
	found, _ := one.(*request)
	return found
}

// take returns a request that is answered, nil if it was already or there is none.
func (r *requests) take(id string) *request {
	one, _ := r.LoadAndDelete(id)
	taken, _ := one.(*request)
	return taken
}

// await sends a request of ours, waits for its answer, and cancels it if ctx is done before.
func (r *requests) await(ctx context.Context, one *request, send func() error, cancel func()) (*message, error) {
	one.answer = make(chan answerOf, 1)
	r.Store(one.id(), one)
	if err := send(); err != nil {
		r.take(one.id())
		return nil, err
	}
	select {
	case got := <-one.answer:
		if got.err != nil {
			return nil, got.err
		}
		return got.m, got.m.err()
	case <-ctx.Done():
		r.take(one.id())
		cancel()
		return nil, context.Cause(ctx)
	}
}

func newServer(s Server, session *session) *server {
	wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(500*time.Millisecond), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	return &server{Server: s, session: session, log: session.proxy.log.With("server", s.Name), wait: wait}
}

// dial opens a link. It is nil if the server is closed.
func (s *server) dial() (link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil //nolint:nilnil // a closed server has no link, and that is no failure
	}
	s.generation++
	generation := s.generation
	link, err := s.open(s.session.proxy.log, sink{message: s.receive, failed: s.failed, ended: func(err error) { s.lost(generation, err) }})
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
	answer, err := s.exchange(ctx, nil, m.Method, m.Params, m.id())
	if err != nil {
		return nil, err
	}
	return answer.Result, nil
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
	m := &message{ID: s.session.proxy.newID(), Method: method, Params: params}
	if method == methodCallTool {
		s.describe(trace.SpanFromContext(ctx), l, m)
	}
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
		s.requests.Store(m.id(), &request{message: m, server: s, about: m.id()})
	}
	if err := l.send(ctx, m); err != nil && m.isRequest() {
		s.requests.take(m.id()).end(nil, err)
	}
}

func (s *server) receive(m *message, about string) {
	if m.Method != "" {
		s.session.fromServer(s, m, about)
	} else if r := s.requests.take(m.id()); r != nil {
		r.end(m, nil)
	} else {
		s.log.Debug("proxy: an answer that nobody waits for was left out")
	}
}

func (s *server) failed(id string, err error) {
	r := s.requests.take(id)
	if r == nil || r.answer != nil {
		r.end(nil, err)
		return
	}
	r.end(nil, fmt.Errorf("proxy: the server %q gave no answer: %w", s.Name, err))
	if _, dialed := errors.AsType[*net.OpError](err); dialed && !s.session.greeted.Load() {
		s.session.stop(&UnreachableError{Server: s.Name, Err: err})
	}
}

// end ends a request to a server with its answer, or with why there is none. It does nothing if the request is nil.
func (r *request) end(m *message, err error) {
	if r == nil {
		return
	}
	if err == nil {
		r.server.session.greeted.Store(true)
		r.server.subscriptions.note(r.message, m)
	}
	switch {
	case r.answer != nil:
		r.answer <- answerOf{m, err}
	case err == nil:
		r.server.session.answered(r.server, r.message, m)
	case r.server.session.ctx.Err() == nil: // or nobody waits for it any more
		r.server.session.giveUp(r.message, err)
	}
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

// wireError is an error of ours as the client gets it.
func wireError(err error) *jsonrpc.Error {
	if reply, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return reply
	}
	return &jsonrpc.Error{Code: codeGone, Message: cmp.Or(err.Error(), "proxy: it failed")}
}

// Restarts come one after the other in at least this distance.
const restartDistance = 250 * time.Millisecond

// lost ends what waits for a server that has gone, and starts it again.
func (s *server) lost(generation int, err error) {
	s.mu.Lock()
	if s.closed || generation != s.generation {
		s.mu.Unlock()
		return
	}
	s.link = nil
	restart := s.away == nil
	if restart {
		s.away = make(chan struct{})
	}
	s.mu.Unlock()

	gone := fmt.Errorf("proxy: the server %q went away before it answered (%w); it is started again, look whether the call was carried out before you repeat it", s.Name, err)
	for id := range s.requests.Range {
		s.requests.take(id.(string)).end(nil, gone)
	}
	s.session.takeBack(s)
	if restart {
		go s.restart(err)
	}
}

// restart brings the server back: at once, and then after growing waits until it has shaken hands.
func (s *server) restart(why error) {
	if s.session.hopeless() {
		s.session.stop(&UnreachableError{Server: s.Name, Err: fmt.Errorf("it went away before there was any answer: %w%s", why, s.Stderr.LastWords())})
		return
	}
	if s.session.hello.value() != nil && s.version.value() == "" && len(s.session.servers) > 1 {
		<-s.session.introduced.Done() // the client shakes hands with the others first
	}
	s.mu.Lock()
	delay := time.Duration(0)
	if s.generation > 1 { // the first time at once
		delay = time.Until(s.began.Add(restartDistance))
	}
	s.mu.Unlock()
	for ; s.session.ctx.Err() == nil; delay = s.wait.NextBackOff() {
		s.log.Warn("proxy: the server went away; it is started again",
			slog.String("why", why.Error()+s.Stderr.LastWords()), slog.Duration("in", max(delay, 0)))
		select {
		case <-time.After(delay):
		case <-s.session.ctx.Done():
			return
		}
		if why = s.revive(); why == nil {
			s.log.Info("proxy: the server is back")
			return
		}
	}
}

const handshakePatience = time.Minute

// revive opens a new link and shakes hands on it as the client once did.
func (s *server) revive() error {
	l, err := s.dial()
	if l == nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(s.session.ctx, handshakePatience, fmt.Errorf("no answer within %v", handshakePatience))
	defer cancel()
	if err := s.session.greet(ctx, s, l); err != nil {
		go l.close()
		return err
	}
	s.resubscribe(ctx, l)
	return s.back(l)
}

// back lets requests through again, and notifies the client of the lists that were made without it.
func (s *server) back(l link) error {
	s.session.tools.announced(s)
	s.mu.Lock()
	if s.link != l { // it went away again meanwhile
		s.mu.Unlock()
		return io.ErrUnexpectedEOF
	}
	s.wait.Reset()
	close(s.away)
	s.away = nil
	s.mu.Unlock()
	s.here("tools", "prompts", "resources")
	return nil
}

// greet shakes hands with a restarted server, as the client did with the one before it.
func (s *session) greet(ctx context.Context, one *server, l link) error {
	if s.version.value() == "" { // the client's revision has no greeting
		_, err := one.exchange(ctx, l, methodDiscover, withMember(nil, "_meta", s.meta.value()), "")
		return err
	}
	answer, err := one.exchange(ctx, l, "initialize", s.hello.value(), "")
	if err != nil {
		return err
	}
	return s.welcome(ctx, one, l, answer.Result)
}

// welcome ends a handshake that the client is not part of.
func (s *session) welcome(ctx context.Context, one *server, l link, result json.RawMessage) error {
	now, level := textOf(result, "protocolVersion"), s.level.value()
	switch agreed := one.version.value(); {
	case agreed != "" && now != agreed:
		return errors.New("it speaks another revision of the protocol now")
	case agreed == "" && now < s.version.value():
		return errors.New("it speaks an older revision of the protocol than the client does with the others")
	}
	one.version.Store(now)
	if err := l.send(ctx, &message{Method: "notifications/initialized"}); err != nil || level == nil {
		return err
	}
	_, err := one.exchange(ctx, l, methodSetLevel, level, "")
	return err
}

const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
)

// The subscriptions of a client at one server, by URI, to be renewed after a restart. (Since revision
// 2026-07-28 a subscription is an open request, which the client renews.)
type subscriptions struct{ params sync.Map }

// note looks at a request that was answered.
func (s *subscriptions) note(request, answer *message) {
	switch {
	case answer.Error != nil:
	case request.Method == methodSubscribe:
		s.params.Store(textOf(request.Params, "uri"), request.Params)
	case request.Method == methodUnsubscribe:
		s.params.Delete(textOf(request.Params, "uri"))
	}
}

// resubscribe renews the client's subscriptions at a restarted server. Each resource may have changed
// meanwhile, so the client is notified of each.
func (s *server) resubscribe(ctx context.Context, l link) {
	for uri, params := range s.subscriptions.params.Range {
		if _, err := s.exchange(ctx, l, methodSubscribe, params.(json.RawMessage), ""); err != nil {
			s.log.WarnContext(ctx, "proxy: a subscription was not taken up again",
				slog.Any("uri", uri), slog.Any("err", err))
			continue
		}
		about := fmt.Appendf(nil, `{"uri":%s}`, quoted(uri.(string)))
		s.session.fromServer(s, &message{Method: "notifications/resources/updated", Params: about}, "")
	}
}
