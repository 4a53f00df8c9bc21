package proxy

// How messages pass through a session:
//
//	client → fromClient → begin → callTool → chain → server.CallTool → server.exchange → link
//	                    → route → server.relay → link
//	                    → begin → listTools
//	link → server.receive → request.end → exchange, which has waited for it
//	                                    → answered → client
//	                      → fromServer → client
//	answer → fromClient → fromPerson → the server that has asked, or elicit, which has waited for it
//
// fromClient and server.receive are called by the goroutines that read the connections, one message after the other.
// They wait for nothing but a full queue of a writer: what may take time runs on a goroutine of its request, see begin.
//
// Both sides choose IDs, and several servers may choose the same. So a request keeps its ID only from the client to a
// server that relays it; those of the chain and those of servers get IDs of ours, and requests maps them back.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is one client, with servers of its own. Only tools/list and tools/call go through the chain. It is safe for
// concurrent use.
type session struct {
	proxy  *Proxy
	scope  string
	id     string        // of a session over HTTP that the client names; "" for any other
	caller access.Caller // over HTTP
	// out writes a message to the client; about is the client's request that it belongs to, "" for none.
	out    func(m *message, about string)
	ctx    context.Context
	stop   context.CancelCauseFunc
	tokens sync.Map // a tokenOf by the progress token
	forms  claims   // IDs of elicitations at an address

	servers []*server
	tools   tools
	owners  owners
	calls   sync.WaitGroup
	numbers bool        // its calls are those of one client, and all of them since that connected
	next    chan func() // for one of the goroutines that wait for work
	idle    atomic.Int64

	left   context.Context // done when the client's input has ended, so that it answers nothing any more
	leave  context.CancelCauseFunc
	passed sync.WaitGroup // requests that were passed on as they are, and are not answered

	introduced context.Context // done when a client's initialize was answered for several, or with ctx
	introduce  context.CancelFunc

	hello   shared[json.RawMessage]            // of the client's initialize
	client  introduction                       // what it has about the client
	version shared[string]                     // that was agreed on; "" without initialize
	level   shared[json.RawMessage]            // of the client's logging/setLevel
	meta    shared[map[string]json.RawMessage] // the client's last description of itself, if its requests carry one

	mu       sync.Mutex
	running  map[string]*underWay // tools/call, by the client's ID, or by that of its task
	tasks    map[string]*task     // by their IDs at the client
	called   int                  // how many tools/call have come, if numbers
	tasksOf  map[*server]int      // how many there are of each server, and of ours at nil
	stopping bool                 // no call goes to a server any more

	// requests are those that the client has to answer: ours, and those of servers, which it gets under
	// IDs of ours, so that no server can ask in our name.
	requests requests

	greeted atomic.Bool // a server has answered something
}

var (
	errClientGone = errors.New("proxy: the client has gone")
	errStopping   = errors.New("proxy: it is stopping")
)

// newSession begins a session and opens a link to each server. A server that cannot be started is
// tried again while the others work; if none can, the error is an [UnreachableError].
func (p *Proxy) newSession(scope string, caller access.Caller, out func(m *message, about string)) (*session, error) {
	s := &session{
		proxy: p, scope: scope, caller: caller, out: out,
		running: make(map[string]*underWay),
		next:    make(chan func()), tasks: make(map[string]*task), tasksOf: make(map[*server]int),
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.introduced, s.introduce = context.WithCancel(s.ctx)
	s.left, s.leave = context.WithCancelCause(s.ctx)
	for _, one := range p.o.Servers {
		one, err := p.withCredentials(caller, one)
		if err != nil {
			s.stop(err)
			return nil, err
		}
		s.servers = append(s.servers, newServer(one, s))
	}
	s.tools.session, s.tools.ended = s, make(chan struct{})
	missing := make(map[*server]error)
	for _, one := range s.servers {
		if _, err := one.dial(); err != nil { // the client shakes hands on it
			missing[one] = err
		}
	}
	for _, one := range s.servers {
		switch err := missing[one]; {
		case err != nil && len(missing) == len(s.servers):
			one.fared(err)
			s.close(err)
			return nil, &UnreachableError{Server: one.Name, Err: err}
		case err != nil: // the others work
			one.missing(err)
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
	for _, one := range s.servers {
		for _, r := range one.requests.takeAll() {
			r.end(nil, why)
		}
	}
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

// send notes that a call goes to a server. It returns an error if no call may go to a server any more.
func (s *session) send(u *underWay) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return notSent(errStopping)
	}
	u.sent = true
	return nil
}

// reply sends a response to the client.
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
		_ = s.recordRefusal(s.ctx, m, middleware.Call{Tool: s.calledBy(textOf(m.Params, "name")), Arguments: m.Params}, err) // it gets the error of its transport
	}
	if m.ID != nil {
		s.reply(m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}))
	}
}

const (
	methodCallTool   = "tools/call"
	methodListTools  = "tools/list"
	methodUpdateTask = "tasks/update"
	methodSetLevel   = "logging/setLevel"
	methodDiscover   = "server/discover"
)

// note keeps what has to be known of a request later on.
func (s *session) note(m *message) {
	if token := m.meta["progressToken"]; token != nil && m.isRequest() {
		s.tokens.Store(string(token), tokenOf{about: m.id()})
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
			if decode(hello[member], &v) == nil {
				client[key] = v
			}
		}
		s.client.set(client)
		s.hello.Store(m.Params)
	case methodSetLevel:
		s.level.Store(m.Params)
	}
}

// forgetToken ends the use of a request's progress token, unless another request has taken it over.
func (s *session) forgetToken(m *message) {
	if token := m.meta["progressToken"]; token != nil {
		s.tokens.CompareAndDelete(string(token), tokenOf{about: m.id()})
	}
}

// metaOf returns the members of _meta, nil if there are none.
func metaOf(params json.RawMessage) map[string]json.RawMessage {
	return members(member(params, "_meta"))
}

// route passes a message of the client to the server that it is for.
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
		version := textOf(m.Result, "protocolVersion") // the client reports one that is not valid
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
		if s.left.Err() != nil {
			s.unheard(&request{message: m, server: from})
			return
		}
		id := newID()
		if !s.requests.storeOf(string(id), &request{message: m, server: from}, maxAsked) {
			from.refuse(m, fmt.Errorf("the client has %d requests of this server to answer", maxAsked))
			return
		}
		s.form(from, m)
		s.out(&message{ID: id, Method: m.Method, Params: m.Params}, about)
		s.handed(string(id))
		return
	}
	if m.Method == "notifications/tools/list_changed" {
		s.tools.announced(from)
	}
	if m, about = s.belongs(from, m, about); m != nil {
		s.out(m, about)
	}
}

// renamed is a server's cancellation of a request that the client has under our ID, nil for one of no request of its own.
func (s *session) renamed(from *server, m *message) *message {
	at := member(m.Params, "requestId")
	for id := range s.requests.takeFrom(from, func(r *request) bool { return r.id() == string(at) }) { // one at most
		return m.with("requestId", json.RawMessage(id))
	}
	return s.foreign(from, m, "request", at)
}

// takeBack cancels the questions of a server that has gone: the next one counts its requests anew,
// and must not get an answer to another question.
func (s *session) takeBack(from *server) {
	for id := range s.requests.takeFrom(from, func(*request) bool { return true }) {
		s.out(cancellation(json.RawMessage(id), "the server went away"), "")
	}
}

// fromPerson takes an answer of the client's: to a question of ours, or to a server's.
func (s *session) fromPerson(m *message) {
	r := s.requests.take(m.id())
	switch {
	case r == nil && s.handOn(m):
	case r == nil:
		s.proxy.log.Debug("proxy: an answer of the client's that nobody waits for was left out")
	case r.answer != nil:
		r.answer <- answerOf{m: m}
	default:
		r.server.takeAnswer(r, m)
		r.server.relay(s.ctx, &message{ID: r.ID, Result: m.Result, Error: m.Error})
	}
}
