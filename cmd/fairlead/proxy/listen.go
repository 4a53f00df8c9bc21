package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// How long a session may be silent, and how long a body may be.
const (
	sessionIdle = 30 * time.Minute
	maxBody     = 32 << 20

	// bodyPatience is how long the body of a request may take to come.
	bodyPatience = time.Minute
)

// A front serves clients over streamable HTTP. Each client of a revision with sessions has one, with
// servers of its own; the others share one, or one for each user.
type front struct {
	proxy   *Proxy
	handler http.Handler // of what is not a probe

	bounds   access.File // the operator's, or the defaults
	requests *quota      // under way
	bodies   *quota      // bytes of theirs

	mu       sync.Mutex
	sessions map[string]*httpSession // by their keys
	name     string                  // for scopes that no other process has, whatever they share
	count    int                     // of sessions so far, likewise
	closed   bool
	logged   map[string]time.Time // when the log had the last line of a user who is over their share
}

// ListenAndServe serves clients over streamable HTTP on an address, such as "127.0.0.1:0", until ctx is
// done. It calls ready with the URL first. Without [Options.Access] an address that is not loopback is an error.
func (p *Proxy) ListenAndServe(ctx context.Context, address string, ready func(url string)) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("proxy: --listen: %w; choose another address, or 127.0.0.1:0 for any port that is free", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); p.o.Access == nil && (!ok || !a.IP.IsLoopback()) {
		_ = l.Close()
		return fmt.Errorf("proxy: --listen %s can be reached from other machines; listen on 127.0.0.1, or say by --access who may use it", address)
	}
	f := p.newFront()
	server := &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	url := "http://" + l.Addr().String() + "/mcp"
	if a := p.o.Access; a != nil && a.TLS != nil {
		l, url = a.Listen(l), "https"+strings.TrimPrefix(url, "http")
	}
	go func() { ended <- server.Serve(l) }()
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go p.o.Health.Watch(watching)
	p.o.Health.Started()
	ready(url)
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = nil
	}
	force := time.AfterFunc(p.o.Drain+endPatience, func() { _ = server.Close() }) // a client that does not read is not waited for
	defer force.Stop()
	f.close()
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer stop()
	_ = server.Shutdown(last) // answers are written
	_ = server.Close()        // what is still open belongs to sessions that have ended
	return err
}

// Handler returns a handler that serves clients over streamable HTTP until ctx is done, on a loopback
// address, or those whom [Options.Access] lets in.
func (p *Proxy) Handler(ctx context.Context) http.Handler {
	f := p.newFront()
	context.AfterFunc(ctx, f.close)
	go p.o.Health.Watch(ctx)
	p.o.Health.Started()
	return f
}

func (p *Proxy) newFront() *front {
	b, most := bounds(p.o.Access), bodies(roomOf(p.o.InFlight))
	f := &front{
		proxy: p, name: rand.Text()[:8], sessions: make(map[string]*httpSession), bounds: b,
		requests: newQuota(b.Requests, b.PerUser.Requests), bodies: newQuota(most, most/2),
	}
	p.front.Store(f)
	p.dependOnServers()
	m := http.NewServeMux()
	m.HandleFunc("/{$}", f.serve)
	m.HandleFunc("/mcp", f.serve)
	a := p.o.Access
	if a == nil {
		f.handler = f.local(m)
		return f
	}
	if p.o.Page != nil && len(a.Approvers) > 0 {
		m.Handle("/approvals/", p.o.Page)
	}
	if p.o.SignIn != nil {
		m.Handle(SignInPath, p.o.SignIn)
	}
	f.handler = a.Handler(m, f.tokenRefused)
	return f
}

// close takes no more sessions, and drains and ends those that are open.
func (f *front) close() {
	f.mu.Lock()
	f.closed = true
	f.proxy.o.Health.End()
	all := slices.Collect(maps.Values(f.sessions))
	f.mu.Unlock()
	var ending sync.WaitGroup
	for _, h := range all {
		ending.Go(func() {
			h.session.drain(f.proxy.o.Drain)
			h.session.close(errStopping)
		})
	}
	ending.Wait()
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz":
		fmt.Fprintln(w, "ok")
	default:
		if one, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); one == "readyz" {
			f.proxy.o.Health.ServeHTTP(w, r)
			return
		}
		f.handler.ServeHTTP(&statusWriter{ResponseWriter: w, to: &f.proxy.turned}, r)
	}
}

// local refuses what is not from a client on this machine, such as a request of a page from elsewhere, or by another
// name for this address.
func (f *front) local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		_, host, ok := strings.Cut(origin, "://")
		var why string
		switch {
		case !loopback(r.Host):
			why = "proxy: the Host header is not that of this machine"
		case origin != "" && (!ok || !loopback(host)):
			why = "proxy: the Origin header is that of another site"
		default:
			next.ServeHTTP(w, r)
			return
		}
		f.proxy.log.WarnContext(r.Context(), "proxy: a request was refused", slog.String("why", why))
		http.Error(w, why, http.StatusForbidden)
	})
}

func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		f.post(w, r)
		return
	}
	h := f.find(r)
	if h == nil {
		h, _, _ = f.takeOver(r) // or there is none
	}
	switch {
	case r.Header.Get(headerSession) == "":
		w.Header().Set("Allow", "POST")
		http.Error(w, "there is no session; POST an initialize first", http.StatusMethodNotAllowed)
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	case h == nil:
		http.Error(w, "the session has ended", http.StatusNotFound)
	case r.Method == http.MethodDelete:
		f.share(r.Context(), h, true)
		f.end(h)
		w.WriteHeader(http.StatusNoContent)
	default:
		h.listen(w, r)
	}
}

// loopback reports whether a host, with or without a port, is this machine. A name that resolves to it is not enough,
// except for localhost: a page from elsewhere could be led here by its own name.
func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// find returns the session that a request names, if it is the caller's own.
func (f *front) find(r *http.Request) *httpSession {
	f.mu.Lock()
	h := f.sessions[r.Header.Get(headerSession)]
	f.mu.Unlock()
	if h == nil || h.id == "" || h.session.caller.String() != access.Of(r.Context()).String() {
		return nil
	}
	if h.ready != nil {
		select {
		case <-h.ready:
		case <-r.Context().Done():
			return nil
		}
	}
	if h.session.ctx.Err() != nil || !f.renew(r.Context(), h) {
		return nil
	}
	return h
}

// post takes the messages of one HTTP request to their session.
func (f *front) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "the content type has to be application/json", http.StatusUnsupportedMediaType)
		return
	}
	read, busy := f.body(r)
	if busy != nil {
		w.Header().Set("Connection", "close") // or the answer would wait for the body
		f.refuse(w, r, http.StatusTooManyRequests, &message{}, busy)
		return
	}
	defer read()
	reading := http.NewResponseController(w)
	_ = reading.SetReadDeadline(time.Now().Add(bodyPatience)) // where there is none, the client's connection is not a socket
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = reading.SetReadDeadline(time.Time{}) // of what comes next on this connection
	if errors.Is(err, os.ErrDeadlineExceeded) {
		http.Error(w, "the body did not come in time", http.StatusRequestTimeout)
		return
	}
	if err != nil {
		w.Header().Set("Connection", "close") // the rest of it is not read
		http.Error(w, "the body cannot be read, or is too long", http.StatusRequestEntityTooLarge)
		return
	}
	all, err := parseAll(body)
	if err != nil {
		fail(w, http.StatusBadRequest, &message{ID: json.RawMessage("null")}, jsonrpc.CodeParseError, err.Error())
		return
	}
	for _, m := range all {
		if err := mismatch(r.Header, m); err != nil {
			f.proxy.log.WarnContext(r.Context(), "proxy: a request was refused", slog.String("why", err.Message))
			fail(w, http.StatusBadRequest, m, err.Code, err.Message)
			return
		}
		m.header = r.Header
	}
	if all[0].isRequest() { // or an answer, or the end of a request, for which there is always room
		done, busy := f.request(access.Of(r.Context()).User)
		if busy != nil {
			f.refuse(w, r, http.StatusTooManyRequests, all[0], busy)
			return
		}
		defer done()
	}
	h, status, err := f.sessionOf(r, all[0])
	if err != nil {
		f.refuse(w, r, status, all[0], err)
		return
	}
	if all[0].Method == "initialize" && h.id != "" {
		w.Header().Set(headerSession, h.id)
	}
	h.post(w, r, all)
	if all[0].Method == "initialize" && h.id != "" && h.session.version.value() == "" { // it was answered by an error
		f.end(h)
	}
}

// refuse answers a message that no session takes.
func (f *front) refuse(w http.ResponseWriter, r *http.Request, status int, m *message, why error) {
	busy, over := errors.AsType[*busyError](why)
	if over {
		busy.header(w.Header())
	}
	user := access.Of(r.Context()).User
	switch {
	case over && user != "" && f.logs(user):
		f.proxy.log.WarnContext(r.Context(), "proxy: a request was refused, and others of the user are without a line for a minute",
			slog.String("user", safetext.Line(user)), slog.Any("why", why))
	case !over || user == "":
		f.proxy.log.WarnContext(r.Context(), "proxy: a request was refused", slog.Any("why", why))
	}
	fail(w, status, m, codeGone, why.Error())
}

// tokenRefused logs why a token does not count: an outage of the issuer's clock or of this machine's looks like this.
func (f *front) tokenRefused(ctx context.Context, why error) {
	if f.logs("") {
		f.proxy.log.WarnContext(ctx, "access: a token was refused, and others are without a line for a minute",
			slog.String("why", safetext.Cut(safetext.Line(why.Error()), 300)))
	}
}

// fail answers anything that was sent, a request or not, with an error.
func fail(w http.ResponseWriter, status int, m *message, code int64, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if m.ID == nil {
		m.ID = json.RawMessage("null")
	}
	_, _ = w.Write(m.failTo(&jsonrpc.Error{Code: code, Message: text}).encode()) // a client that has gone gets no answer
}

var errNoSession = errors.New("proxy: the session has ended, or never was; initialize a new one")

// sessionOf finds the session of a request, or begins it.
func (f *front) sessionOf(r *http.Request, m *message) (h *httpSession, status int, err error) {
	if r.Header.Get(headerSession) != "" {
		if h = f.find(r); h == nil {
			return f.takeOver(r)
		}
		return h, 0, nil
	}
	isModern := m.meta["io.modelcontextprotocol/protocolVersion"] != nil
	if !isModern && m.Method != "initialize" {
		return nil, http.StatusBadRequest, errNoSession
	}
	caller := access.Of(r.Context())
	key, scope := "all "+caller.String(), caller.User
	f.mu.Lock()
	defer f.mu.Unlock()
	if shared := f.sessions[key]; isModern && !f.closed && shared != nil && shared.session.ctx.Err() == nil {
		return shared, 0, nil
	}
	h = &httpSession{streams: make(map[string]*stream), used: time.Now(), renewed: time.Now()}
	if !isModern {
		h.id = rand.Text()
		h.first = func() { f.share(r.Context(), h, false) } // before the client can name it to another replica
		key, scope = h.id, cmp.Or(scope, fmt.Sprintf("session-%s-%d", f.name, f.count+1))
	}
	if status, err = f.open(r.Context(), h, key, scope, caller); err != nil {
		return nil, status, err
	}
	return h, 0, nil
}

// open begins a session under a key of the front, whose lock is held.
func (f *front) open(ctx context.Context, h *httpSession, key, scope string, caller access.Caller) (status int, err error) {
	if f.closed {
		return http.StatusServiceUnavailable, errors.New("proxy: it is ending")
	}
	over, busy := f.room(ctx, caller.User)
	if busy != nil {
		return http.StatusTooManyRequests, busy
	}
	if over != nil {
		go over.close()
	}
	if h.id != "" {
		f.count++
	}
	if h.session, err = f.proxy.newSession(scope, caller, h.write); err != nil {
		return http.StatusBadGateway, err
	}
	h.session.id = h.id
	h.session.numbers = h.id != "" && f.proxy.o.Sessions == nil // or some of the calls are at other replicas
	f.sessions[key], h.key = h, key
	if h.id != "" || caller.User != "" { // the one that all of this machine share is kept
		h.idle = time.AfterFunc(sessionIdle, func() { f.end(h) })
	}
	context.AfterFunc(h.session.ctx, func() { f.end(h) })
	return 0, nil
}

// end ends a session, once.
func (f *front) end(h *httpSession) {
	f.mu.Lock()
	there := f.sessions[h.key] == h
	if there {
		delete(f.sessions, h.key)
	}
	f.mu.Unlock()
	if there {
		h.close()
	}
}
