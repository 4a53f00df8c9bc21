package proxy

// Over HTTP each request of the client has a response of its own, with the answer and what the server sends about it. What
// belongs to no request goes to the stream that the client opened by a GET, or else to any response that is
// open, or waits. A response begins as JSON or, if there is no answer within a second, as a stream of events: after that
// its status cannot be changed any more.
//
// Clients of revision 2026-07-28 have no sessions and share one here (each user one, with [Options.Access]), so two of
// them may use the same ID. Their requests, progress tokens and subscriptions are therefore renamed on the way in, and
// renamed back on the way out.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An httpSession is the way to a client, or to all that have no session, over HTTP.
type httpSession struct {
	id      string // "" for one that is shared
	key     string // among the sessions
	session *session
	idle    *time.Timer
	ready   chan struct{} // closed when a session of another replica has been opened here; nil for one of this replica

	mu      sync.Mutex
	streams map[string]*stream // by the ID of the request in the session
	own     *stream            // that the client listens on
	waiting []*message         // for somewhere to say it
	used    time.Time          // when the client sent something last
	renewed time.Time          // among the sessions that replicas share
	first   func()             // to be called before the client's first request is answered; nil for nothing
}

// close ends a session that is not among those of the front any more.
func (h *httpSession) close() {
	if h.idle != nil {
		h.idle.Stop()
	}
	h.session.close(errClientGone)
}

// maxWaiting is how many messages are kept for a client that has nothing open. Later ones are left out.
const maxWaiting = 100

// A stream is the answer to one HTTP request.
type stream struct {
	id     json.RawMessage // of the request, as the client wrote it
	token  json.RawMessage // of its progress, likewise; nil where it is not renamed
	modern bool

	mu     sync.Mutex
	w      http.ResponseWriter
	events bool // the answer has begun, as a stream of events
	over   bool
	done   chan struct{} // closed when the answer is there
}

// quiet is how long a request may be without an answer before its stream begins.
const quiet = time.Second

// post hands over a client's messages and waits for the answers to its requests.
func (h *httpSession) post(w http.ResponseWriter, r *http.Request, all []*message) {
	defer h.rest()
	h.mu.Lock()
	h.used = time.Now()
	h.mu.Unlock()
	for _, m := range all {
		if why := m.stray(); why != "" {
			h.session.stray(&message{Method: m.Method, Params: m.Params}, why)
			fail(w, http.StatusBadRequest, m, jsonrpc.CodeInvalidRequest, "proxy: "+why)
			return
		}
		if m.isRequest() && len(all) > 1 { // no revision with sessions over HTTP that is in use has them
			fail(w, http.StatusBadRequest, m, jsonrpc.CodeInvalidRequest, "proxy: requests are not taken in batches over HTTP; send each by itself")
			return
		}
	}
	request := all[0]
	if !request.isRequest() {
		for _, m := range all {
			if h.id != "" || m.Method != methodCancelled { // who shares a session ends a request by its stream
				h.session.fromClient(m)
			}
			if h.id != "" && m.Method == methodCancelled {
				h.hangUp(string(member(m.Params, "requestId")))
			}
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s := &stream{id: request.ID, w: w, done: make(chan struct{})}
	m := h.register(s, request)
	if m == nil {
		fail(w, http.StatusBadRequest, request, jsonrpc.CodeInvalidRequest, "proxy: a request with this id is under way already")
		return
	}
	h.rest()
	show := time.AfterFunc(quiet, s.begin)
	defer show.Stop()
	h.session.fromClient(m)
	select {
	case <-s.done:
		return
	case <-r.Context().Done(): // the answer could not be given
		h.session.fromClient(cancellation(m.ID, "the client has closed the connection"))
	case <-h.session.ctx.Done():
		if errors.Is(context.Cause(h.session.ctx), errStopping) { // what the chain makes of it comes now
			select {
			case <-s.done:
				return
			case <-time.After(endPatience):
			}
		}
		s.write(s.renamed(m.failTo(wireError(context.Cause(h.session.ctx))), true), true)
	}
	s.end()
	h.mu.Lock()
	delete(h.streams, m.id())
	h.mu.Unlock()
}

// hangUp ends the HTTP response of a request that its client has cancelled: there may be no answer, and the request would
// count as under way for as long as the client keeps the connection.
func (h *httpSession) hangUp(id string) {
	h.mu.Lock()
	s := h.streams[id]
	delete(h.streams, id)
	h.mu.Unlock()
	if s == nil {
		return
	}
	s.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.done)
	}
}

// rest starts the idle timer of a client that neither listens nor waits for an answer.
func (h *httpSession) rest() {
	if h.idle == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.own != nil || len(h.streams) > 0 {
		h.idle.Stop()
	} else {
		h.idle.Reset(sessionIdle)
	}
}

// register makes the stream known under the request's ID. If clients share a session, it replaces
// their IDs and progress tokens by ones that differ.
func (h *httpSession) register(s *stream, m *message) *message {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.id == "" {
		s.modern = true
		id := newID()
		renamed := *m
		if s.token = m.meta["progressToken"]; s.token != nil {
			m.meta["progressToken"] = id
			renamed = *m.with("_meta", m.meta)
		}
		renamed.ID = id
		m = &renamed
	}
	if h.streams[m.id()] != nil {
		return nil
	}
	h.streams[m.id()] = s
	return m
}

// write sends a message to the client: with the answer to the request that it belongs to, if that is
// still open.
func (h *httpSession) write(m *message, about string) {
	var first func()
	h.mu.Lock()
	if id := m.meta[mcp.MetaKeySubscriptionID]; about == "" && id != nil {
		about = string(id)
	}
	s, final := h.streams[about], m.Method == ""
	switch {
	case final:
		delete(h.streams, about)
		first, h.first = h.first, nil
	case s == nil && h.own != nil:
		s = h.own
	case s == nil:
		for _, s = range h.streams {
			break // any of them will do
		}
	}
	if s == nil && !final && len(h.waiting) < maxWaiting {
		h.waiting = append(h.waiting, m)
	}
	h.mu.Unlock()
	if first != nil {
		first()
	}
	if s != nil {
		s.write(s.renamed(m, final), final)
	}
}

// renamed is a message with the names that the client gave.
func (s *stream) renamed(m *message, final bool) *message {
	if !s.modern {
		return m
	}
	if final {
		out := *m
		out.ID = s.id
		return &out
	}
	if m.Method == "notifications/progress" && s.token != nil {
		m = m.with("progressToken", s.token)
	}
	if m.meta[mcp.MetaKeySubscriptionID] != nil {
		m.meta[mcp.MetaKeySubscriptionID] = s.id
		m = m.with("_meta", m.meta)
	}
	return m
}

// listen holds a stream open for what belongs to no request.
func (h *httpSession) listen(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Last-Event-ID") != "" {
		http.Error(w, "nothing is kept to be taken up again", http.StatusBadRequest)
		return
	}
	s := &stream{w: w, done: make(chan struct{})}
	h.mu.Lock()
	if h.own != nil {
		h.mu.Unlock()
		http.Error(w, "the client listens already", http.StatusConflict)
		return
	}
	h.own = s
	waiting := h.waiting
	h.waiting = nil
	h.mu.Unlock()
	h.rest()
	defer h.rest()
	s.begin()
	for _, m := range waiting {
		s.write(m, false)
	}
	select {
	case <-r.Context().Done():
	case <-h.session.ctx.Done():
	}
	h.mu.Lock()
	h.own = nil
	h.mu.Unlock()
	s.end()
}

// begin shows the client that the answer will come as a stream of events.
func (s *stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.beginLocked(); !s.over {
		_ = http.NewResponseController(s.w).Flush() // a client that has gone gets no answer
	}
}

func (s *stream) beginLocked() {
	if s.events || s.over {
		return
	}
	s.events = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Cache-Control", "no-cache, no-transform")
	s.w.WriteHeader(http.StatusOK)
}

// readPatience is how long a client may take to read a message, while its servers wait.
const readPatience = 30 * time.Second

// write sends a message. An answer that nothing came before is sent by itself.
func (s *stream) write(m *message, final bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(readPatience)) // where there is none, the client's connection is not a socket
	var err error
	if final && !s.events {
		s.w.Header().Set("Content-Type", "application/json")
		s.w.WriteHeader(s.status(m))
		err = m.writeTo(s.w)
	} else {
		s.beginLocked()
		err = s.event(m)
		err = cmp.Or(err, control.Flush())
	}
	_ = control.SetWriteDeadline(time.Time{}) // of what comes next on this connection
	if final {
		close(s.done)
	}
	s.over = final || err != nil // a client that has gone, or does not read, is not waited for again
}

// event writes a message as an event.
func (s *stream) event(m *message) error {
	if _, err := io.WriteString(s.w, "event: message\ndata: "); err != nil {
		return err
	}
	if err := m.writeTo(s.w); err != nil {
		return err
	}
	_, err := io.WriteString(s.w, "\n\n")
	return err
}

// status is the HTTP status of an answer, by the revision that defines it.
func (s *stream) status(m *message) int {
	if !s.modern {
		return http.StatusOK
	}
	if e, ok := m.err().(*jsonrpc.Error); ok { //nolint:errorlint // it is made there
		switch e.Code {
		case jsonrpc.CodeMethodNotFound:
			return http.StatusNotFound
		case jsonrpc.CodeInvalidParams, mcp.CodeHeaderMismatch, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// end has later messages of a request that is over left out.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}
