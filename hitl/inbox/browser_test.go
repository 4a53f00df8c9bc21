package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const origin = "http://127.0.0.1:8080"

func tool(tb testing.TB, name, description string) *middleware.Tool {
	tb.Helper()
	t, err := middleware.NewTool("files", &mcp.Tool{Name: name, Description: description}, annotation.Destructive().Attribute(annotation.Inferred, "\"delete\" leads the name"))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// asks is a question as hitl would put it.
func asks(tb testing.TB, id, arguments string) hitl.Request {
	tb.Helper()
	return hitl.Request{
		ID: id, Tool: tool(tb, "delete", "Delete a file."), Arguments: json.RawMessage(arguments), Scope: "ann", CallID: "call-1",
		Deadline: time.Now().Add(time.Minute),
	}
}

// A log keeps what was logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// A network is a real server and its clients in one bubble: pipes for connections,
// virtual time for everything.
type network struct {
	conns chan net.Conn
	once  sync.Once
	over  chan struct{}
}

func newNetwork() *network { return &network{conns: make(chan net.Conn), over: make(chan struct{})} }

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.over:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.over) }); return nil }
func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-n.over:
		return nil, net.ErrClosed
	}
}

// served runs test in a bubble with an inbox behind a real HTTP server.
func served(t *testing.T, o inbox.Options, test func(t *testing.T, in *inbox.Inbox, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, n := inbox.New(o), newNetwork()
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- in.Serve(ctx, n) }()
		defer func() { // also if the test fails
			cancel()
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		}()
		test(t, in, n)
	})
}

// A browser is an HTTP client that behaves like one.
type browser struct {
	tb     testing.TB
	client *http.Client
	origin string
}

// A page is what a browser shows.
type page struct {
	status int
	text   string
	header http.Header
}

func newBrowser(tb testing.TB, n *network) *browser {
	tb.Helper()
	transport := http.DefaultTransport
	if n != nil {
		own := &http.Transport{DialContext: n.dial}
		tb.Cleanup(own.CloseIdleConnections)
		transport = own
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &browser{tb, &http.Client{Transport: transport, Jar: jar}, origin}
}

// enters opens a link and goes in.
func enters(tb testing.TB, n *network, in *inbox.Inbox, by string) *browser {
	tb.Helper()
	b := newBrowser(tb, n)
	door := b.get(strings.TrimPrefix(in.Link(b.origin, by), b.origin))
	p := b.post("/approvals/enter", url.Values{"token": {field(door.text, "token")}})
	p.want(tb, http.StatusOK, "Approvals")
	return b
}

func (b *browser) do(r *http.Request) page {
	b.tb.Helper()
	res, err := b.client.Do(r)
	if err != nil {
		b.tb.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.tb.Fatal(err)
	}
	return page{res.StatusCode, string(text), res.Header}
}

func (b *browser) request(method, path, body string) *http.Request {
	b.tb.Helper()
	r, err := http.NewRequestWithContext(b.tb.Context(), method, b.origin+path, strings.NewReader(body))
	if err != nil {
		b.tb.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.origin)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return r
}

func (b *browser) get(path string) page {
	b.tb.Helper()
	return b.do(b.request(http.MethodGet, path, ""))
}

func (b *browser) post(path string, form url.Values) page {
	b.tb.Helper()
	return b.do(b.request(http.MethodPost, path, form.Encode()))
}

// decides sends the form of a question as its own page shows it, with changes.
func (b *browser) decides(id, decision string, more ...string) page {
	b.tb.Helper()
	return b.post("/approvals/question/"+id+"/decision", b.form(id, decision, more...))
}

func (b *browser) form(id, decision string, more ...string) url.Values {
	b.tb.Helper()
	form := url.Values{"decision": {decision}, "digest": {field(b.get("/approvals/question/"+id).text, "digest")}}
	if decision != "deny" {
		form.Set("shown", "all")
	}
	for i := 0; i < len(more); i += 2 {
		form[more[i]] = []string{more[i+1]}
	}
	return form
}

func (p page) want(tb testing.TB, status int, texts ...string) {
	tb.Helper()
	if p.status != status {
		tb.Errorf("got status %d, want %d:\n%s", p.status, status, p.text)
	}
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			tb.Errorf("no %q in\n%s", text, p.text)
		}
	}
}

// field returns the value of a hidden field.
func field(text, name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// An asked is a question that waits.
type asked struct {
	decision hitl.Decision
	err      error
	over     chan struct{}
}

// ask puts a question on the page and returns when it is there.
func ask(ctx context.Context, in *inbox.Inbox, r hitl.Request) *asked {
	a := &asked{over: make(chan struct{})}
	go func() {
		defer close(a.over)
		ctx, cancel := context.WithDeadlineCause(ctx, r.Deadline, errSilent)
		defer cancel()
		a.decision, a.err = in.Confirm(ctx, r)
	}()
	synctest.Wait()
	return a
}

var errSilent = errors.New("no answer in time")

// waits checks that nothing came of a question yet.
func (a *asked) waits(tb testing.TB) {
	tb.Helper()
	synctest.Wait()
	select {
	case <-a.over:
		tb.Errorf("the question is over: %+v, %v", a.decision, a.err)
	default:
	}
}

// want checks how a question ended.
func (a *asked) want(tb testing.TB, verdict hitl.Verdict) hitl.Decision {
	tb.Helper()
	synctest.Wait()
	select {
	case <-a.over:
	default:
		tb.Fatal("the question still waits")
	}
	if a.err != nil || a.decision.Verdict != verdict {
		tb.Errorf("got %+v and error %v, want verdict %d", a.decision, a.err, verdict)
	}
	return a.decision
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}
