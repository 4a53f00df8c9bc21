package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/flow"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HeaderValue writes an argument as a header.
func HeaderValue(argument string) (string, bool) { return headerValue(json.RawMessage(argument)) }

// Messages returns how many messages a line of a server has, 0 for one that is left out.
func Messages(line string) int {
	all, err := parseAll([]byte(line))
	if err != nil {
		return 0
	}
	return len(all)
}

// Listen opens the stream of what a server says on its own, through a transport, again
// and again until it is given up.
func Listen(through http.RoundTripper) {
	r := newRemote(Server{Name: "a", URL: "http://a"}, slog.New(slog.DiscardHandler), sink{})
	r.client.Transport = through
	r.listen()
}

// Cancelled makes a request of a server without sessions and cancels it at once. It
// returns what came of it.
func Cancelled(t testing.TB, through http.RoundTripper) error {
	t.Helper()
	failed := make(chan error, 1)
	r := newRemote(Server{Name: "a", URL: "http://a"}, slog.New(slog.DiscardHandler), sink{failed: func(_ string, err error) { failed <- err }})
	r.client.Transport = through
	for _, text := range []string{
		`{"id":1,"method":"tools/list"}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		m, err := parseOne([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	return <-failed
}

// MaxWrites is the length from which the file of writes is replaced.
const MaxWrites = maxWrites

// Mark reports a write.
func (w *Writes) Mark() { w.mark() }

// Others reports whether another process may have written.
func (w *Writes) Others() bool { return w.others() }

// Decisions returns how often a policy was asked about calls and lists.
func Decisions(p *Proxy) int64 { return p.decided.Load() }

// LateAfter makes a proxy wait for one of several servers only so long.
func LateAfter(d time.Duration) func(*Proxy) { return func(p *Proxy) { p.late = d } }

// MaxTasks makes a session keep only so many tasks of each server.
func MaxTasks(n int) func(*Proxy) { return func(p *Proxy) { p.maxTasks = n } }

// MaxListed makes a session read only so many bytes of a list.
func MaxListed(n int) func(*Proxy) { return func(p *Proxy) { p.maxListed = n } }

// KeptTexts reads a list that is accepted, and then others that fail after their first page. It returns how many texts of
// tools are kept.
func KeptTexts(lists int) int {
	of := new(toolsOf)
	for i := range lists {
		page := fmt.Appendf(nil, `{"tools":[{"name":"read_%d","inputSchema":{"type":"object"}}]}`, i)
		res := new(mcp.ListToolsResult)
		if err := json.Unmarshal(page, res); err != nil {
			panic(err) // it is a constant
		}
		if of.keep("srv", page, page, res, true); i == 0 {
			of.accept()
		}
	}
	return len(of.written)
}

// SessionIdle is how long a client over HTTP may be silent.
const SessionIdle = sessionIdle

// NewIdle begins a session over HTTP, whose server is away. It returns how its client
// listens and how it posts, what is said to it, and what is closed at its end.
func NewIdle() (listen http.HandlerFunc, post func(text string) http.HandlerFunc, say func(), ended <-chan struct{}) {
	f := &front{proxy: &Proxy{tracker: flow.NewTracker(flow.Limits{}), log: slog.New(slog.DiscardHandler)}, sessions: make(map[string]*httpSession)}
	h := &httpSession{streams: make(map[string]*stream)}
	h.id = "id"
	h.session = &session{proxy: f.proxy, out: h.write, running: make(map[string]*underWay)}
	h.session.ctx, h.session.stop = context.WithCancelCause(context.Background())
	h.session.left, h.session.leave = context.WithCancelCause(h.session.ctx)
	away := newServer(Server{}, h.session)
	away.away = make(chan struct{})
	h.session.servers = []*server{away}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[h.id], h.key = h, h.id
	h.idle = time.AfterFunc(sessionIdle, func() { f.end(h) })
	return h.listen, func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			all, err := parseAll([]byte(text))
			if err != nil {
				panic(err)
			}
			h.post(w, r, all)
		}
	}, func() { h.write(&message{Method: "notifications/x"}, "") }, h.session.ctx.Done()
}

// Scanned reads a message, and a result, as most are read, and reports whether it could.
func Scanned(text []byte) (message any, res *mcp.CallToolResult, kind string, isMessage, isResult bool) {
	m, isMessage := scanMessage(text)
	if w := scanResult(text); w != nil {
		res, kind, isResult = w.res, w.kind, true
	}
	return *m, res, kind, isMessage, isResult
}

// Given reports whether a client gets the bytes of a server's result after a chain has returned what change makes of it.
func Given(raw []byte, change func(*mcp.CallToolResult) *mcp.CallToolResult) (bool, error) {
	w, err := readResult(raw)
	if err != nil {
		return false, err
	}
	return w.gives(change(w.res)), nil
}

// Decoded reads a message as package json does.
func Decoded(text []byte) (any, error) {
	var m message
	err := json.Unmarshal(text, &m)
	m.read = scanResult(m.Result)
	return m, err
}

// A Room is what bounds the bytes of servers' messages.
type Room = room

// NewRoom returns one of so many bytes.
func NewRoom(size int64) *Room { return newRoom(size) }

// Message returns how a message of a user takes room for so many bytes in all, and how it gives them back.
func (r *room) Message(ctx context.Context, user string) (grow func(to int64) error, release func()) {
	h := r.hold(ctx, user)
	return h.grow, h.release
}

// ToSend waits until a call of the user may be sent.
func (r *room) ToSend(ctx context.Context, user string) error { return r.toSend(ctx, user) }

// Use returns how much is taken, and how many messages wait.
func (r *room) Use() (Use, int64) { return r.use() }
