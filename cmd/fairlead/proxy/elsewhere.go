package proxy

// Replicas behind a load balancer get requests of sessions that another one has opened. With [Options.Sessions] each
// keeps how the clients of its sessions have introduced themselves. A replica that does not have the session of a
// request introduces the client to its own servers in the same words, and goes on with the session. A client's answer
// that came to the wrong replica is kept for the one that has asked.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
)

// Sessions keeps texts about sessions for all replicas, see redis.Sessions.
type Sessions interface {
	// Keep keeps a text under a name for a time, in place of an earlier one.
	Keep(ctx context.Context, name string, text []byte, ttl time.Duration) error
	// Find returns the text of a name, nil if there is none, and keeps it for a time from now on.
	Find(ctx context.Context, name string, ttl time.Duration) ([]byte, error)
}

const (
	// sharedFor is how long after its last use another replica can go on with a session.
	sharedFor = sessionIdle + 2*sharedEvery
	// sharedEvery is how long a replica does not look whether another one has ended a session.
	sharedEvery = time.Minute
	// answerEvery is how often a replica looks for an answer that has come to another one, which keeps it for answerFor.
	answerEvery = time.Second
	answerFor   = time.Minute
)

// An opened is what replicas share of a session.
type opened struct {
	Ended   bool            `json:"ended,omitempty"` // by a DELETE
	Caller  string          `json:"caller"`
	Scope   string          `json:"scope"`
	Version string          `json:"version"` // that was agreed on
	Hello   json.RawMessage `json:"hello"`   // the parameters of the client's initialize
}

// share has the other replicas know a session, or that it was ended.
func (f *front) share(ctx context.Context, h *httpSession, ended bool) {
	s := h.session
	if f.proxy.o.Sessions == nil || h.id == "" || s.version.value() == "" { // the client was not introduced
		return
	}
	text, err := json.Marshal(opened{Ended: ended, Caller: s.caller.String(), Scope: s.scope, Version: s.version.value(), Hello: s.hello.value()})
	if err == nil {
		err = f.proxy.o.Sessions.Keep(context.WithoutCancel(ctx), "session "+h.id, text, sharedFor)
	}
	if err != nil { // the session is at this replica alone
		f.proxy.log.WarnContext(ctx, "proxy: other replicas cannot go on with a session", slog.Any("error", err))
	}
}

// shared returns what replicas share of a session, nil if there is nothing.
func (f *front) shared(ctx context.Context, id string) (*opened, error) {
	text, err := f.proxy.o.Sessions.Find(ctx, "session "+id, sharedFor)
	if err != nil || text == nil {
		return nil, err
	}
	o := new(opened)
	if err := json.Unmarshal(text, o); err != nil {
		return nil, fmt.Errorf("proxy: what another replica keeps of a session cannot be read: %w", err)
	}
	return o, nil
}

// renew keeps a session among those that replicas share, and ends it if another replica has ended it. It reports whether
// it goes on. A store that is away or has lost its memory ends none.
func (f *front) renew(ctx context.Context, h *httpSession) bool {
	if f.proxy.o.Sessions == nil {
		return true
	}
	h.mu.Lock()
	fresh := time.Since(h.renewed) < sharedEvery
	if !fresh {
		h.renewed = time.Now()
	}
	h.mu.Unlock()
	if fresh || h.session.version.value() == "" {
		return true
	}
	switch o, err := f.shared(ctx, h.id); {
	case err != nil:
	case o == nil:
		f.share(ctx, h, false)
	case o.Ended:
		f.end(h)
		return false
	}
	return true
}

// takeOver goes on with a session that another replica has opened.
func (f *front) takeOver(r *http.Request) (h *httpSession, status int, err error) {
	id, ctx := r.Header.Get(headerSession), r.Context()
	if f.proxy.o.Sessions == nil || id == "" {
		return nil, http.StatusNotFound, errNoSession
	}
	caller := access.Of(ctx)
	o, err := f.shared(ctx, id)
	if err != nil {
		return nil, http.StatusServiceUnavailable, fmt.Errorf("proxy: the session is not at this replica, and what the others know of it cannot be read; try again: %w", err)
	}
	if o == nil || o.Ended || o.Caller != caller.String() {
		return nil, http.StatusNotFound, errNoSession
	}
	f.mu.Lock()
	if h = f.sessions[id]; h == nil {
		h = &httpSession{id: id, streams: make(map[string]*stream), used: time.Now(), renewed: time.Now(), ready: make(chan struct{})}
		if status, err = f.open(ctx, h, id, o.Scope, caller); err != nil {
			f.mu.Unlock()
			return nil, status, err
		}
		f.mu.Unlock()
		h.introduce(r, o.Hello)
		if h.session.version.value() != o.Version {
			f.end(h)
		}
		close(h.ready)
	} else {
		f.mu.Unlock()
	}
	if h = f.find(r); h == nil {
		return nil, http.StatusNotFound, errNoSession
	}
	return h, 0, nil
}

// introduce introduces the client to the servers of a session, as it has introduced itself at another replica.
func (h *httpSession) introduce(r *http.Request, hello json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), bodyPatience)
	defer cancel()
	r = r.WithContext(ctx)
	h.post(nowhere{}, r, []*message{{ID: newID(), Method: "initialize", Params: hello, meta: metaOf(hello)}})
	h.post(nowhere{}, r, []*message{{Method: "notifications/initialized"}})
}

// nowhere takes a response that nobody reads.
type nowhere struct{}

func (nowhere) Header() http.Header         { return make(http.Header) }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Flush()                      {}

// handOn keeps an answer of the client's for the replica that has asked. It reports whether another one may have.
func (s *session) handOn(m *message) bool {
	store := s.proxy.o.Sessions
	if store == nil || s.id == "" || !strings.HasPrefix(m.id(), `"`+idPrefix) {
		return false
	}
	go func() { // an operation of the store has a bound
		if err := store.Keep(s.ctx, s.answerName(m.id()), m.encode(), answerFor); err != nil {
			s.proxy.log.WarnContext(s.ctx, "proxy: an answer of the client's cannot be handed on to the replica that has asked", slog.Any("error", err))
		}
	}()
	return true
}

// handed looks for the answer to a request at the client that has come to another replica, until the request has ended.
func (s *session) handed(id string) {
	store := s.proxy.o.Sessions
	if store == nil || s.id == "" {
		return
	}
	go func() {
		next := time.NewTicker(answerEvery)
		defer next.Stop()
		for s.requests.find(id) != nil {
			select {
			case <-s.ctx.Done():
				return
			case <-next.C:
			}
			text, err := store.Find(s.ctx, s.answerName(id), answerFor)
			if err != nil || text == nil { // it may come, or the store come back
				continue
			}
			if m, err := parseOne(text); err == nil && m.Method == "" && m.id() == id {
				s.fromPerson(m)
			}
			return
		}
	}()
}

// answerName is the name of an answer. It has the session's, whose client alone can give the answer.
func (s *session) answerName(id string) string { return "answer " + s.id + " " + id }
