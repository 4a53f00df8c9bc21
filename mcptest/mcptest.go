// Package mcptest gives tests real MCP sessions: with a server of the SDK in memory, over HTTP on the loopback or
// in its own process, and with a peer that sends whatever the test wants.
package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is a tool without annotations, with an object of anything as arguments.
func Tool(name, description string) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

// Text is a result of one text.
func Text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Add adds a tool to a server, which handle answers from the raw arguments.
func Add(server *mcp.Server, tool *mcp.Tool, handle func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)) {
	server.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return handle(ctx, req.Params.Arguments)
	})
}

// New returns an empty server.
func New() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
}

// The newest revision of the protocol that has an initialization, and the first without one.
const (
	Legacy = "2025-11-25"
	Modern = "2026-07-28"
)

// Versions are both, for a test that must hold for both.
var Versions = []string{Legacy, Modern}

// NewClient returns a client without options.
func NewClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
}

// Connect returns a session of a client (nil for a new one) with the server in memory; both end with the test.
func Connect(t testing.TB, server *mcp.Server, client *mcp.Client) *mcp.ClientSession {
	t.Helper()
	return ConnectVersion(t, server, client, "")
}

// ConnectVersion is [Connect] at one revision of the protocol.
func ConnectVersion(t testing.TB, server *mcp.Server, client *mcp.Client, version string) *mcp.ClientSession {
	t.Helper()
	return Dial(t, client, MemoryTransport(t, server), version)
}

// MemoryTransport is the way to a server in memory.
func MemoryTransport(t testing.TB, server *mcp.Server) mcp.Transport {
	t.Helper()
	theirs, ours := mcp.NewInMemoryTransports()
	ss, err := server.Connect(context.Background(), theirs, nil)
	if err != nil {
		t.Fatalf("connect the server: %v", err)
	}
	t.Cleanup(func() { _ = ss.Close() })
	return ours
}

// Dial returns a session of a client over a transport; it ends with the test. A nil client is a new one.
func Dial(t testing.TB, client *mcp.Client, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	if client == nil {
		client = NewClient()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cs, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect the client: %v", err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// patience bounds what a test waits for, on a slow and busy machine too.
const patience = 2 * time.Minute

// Context returns a context that ends before the test binary's own deadline.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Wait receives from c, or fails the test.
func Wait[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

const childKey = "FAIRLEAD_TEST_CHILD"

// Main runs the tests of a package, or in a process of [ChildTransport] a server. Call it from TestMain.
func Main(m *testing.M, servers map[string]func() *mcp.Server) {
	name := os.Getenv(childKey)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := servers[name]().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// ChildTransport returns a transport over stdio that starts the test binary as one of the servers of [Main].
func ChildTransport(t testing.TB, name string) mcp.Transport {
	t.Helper()
	exe, env := Child(t, name)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), env)
	return &mcp.CommandTransport{Command: cmd}
}

// Child returns the program of such a process and what its environment needs.
func Child(t testing.TB, name string) (exe, env string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe, childKey + "=" + name
}

// A Peer is the other end of a client's pipe. It answers the handshake of both revisions, and passes other
// requests on.
type Peer struct {
	mu     sync.Mutex
	in     *io.PipeReader
	out    *io.PipeWriter
	handle func(p *Peer, r Request)
}

// A Request is what the client sent.
type Request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// ConnectPeer returns a session with a peer; both end with the test. handle gets each request, on one goroutine.
func ConnectPeer(t testing.TB, client *mcp.Client, version string, handle func(p *Peer, r Request)) *mcp.ClientSession {
	t.Helper()
	return Dial(t, client, PeerTransport(t, handle), version)
}

// PeerTransport is the way to a peer that ends with the test.
func PeerTransport(t testing.TB, handle func(p *Peer, r Request)) mcp.Transport {
	t.Helper()
	fromClient, toPeer := io.Pipe()
	fromPeer, toClient := io.Pipe()
	p := &Peer{in: fromClient, out: toClient, handle: handle}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.serve()
	}()
	t.Cleanup(func() {
		p.Hangup()
		<-done
	})
	return &mcp.IOTransport{Reader: fromPeer, Writer: toPeer}
}

func (p *Peer) serve() {
	lines := bufio.NewReader(p.in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r Request
		if json.Unmarshal(line, &r) != nil || r.ID == nil { // a notification
			continue
		}
		const about = `"capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}`
		switch r.Method {
		case "initialize":
			p.Reply(r, `{"protocolVersion":"`+Legacy+`",`+about+`}`)
		case "server/discover":
			p.Reply(r, `{"resultType":"complete","supportedVersions":["`+Modern+`"],"ttlMs":0,"cacheScope":"private",`+about+`}`)
		default:
			p.handle(p, r)
		}
	}
}

// Reply answers a request with a result, written as it is.
func (p *Peer) Reply(r Request, result string) {
	p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result))
}

// Fail answers a request with an error, written as it is.
func (p *Peer) Fail(r Request, err string) {
	p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, r.ID, err))
}

// Write sends one line.
func (p *Peer) Write(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, line+"\n")
}

// Cut sends the beginning of a line and closes both directions.
func (p *Peer) Cut(beginning string) {
	p.mu.Lock()
	_, _ = io.WriteString(p.out, beginning)
	p.mu.Unlock()
	p.Hangup()
}

// Hangup closes both directions, as a process that dies does.
func (p *Peer) Hangup() {
	_ = p.out.Close()
	_ = p.in.Close()
}

// Tools is the result of a list of tools, each written as it is.
func Tools(nextCursor string, tools ...string) string {
	return fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[%s],"nextCursor":%q}`, strings.Join(tools, ","), nextCursor)
}

// HTTP is a server of the SDK behind a real socket.
type HTTP struct {
	*httptest.Server

	pool      *http.Transport
	intercept atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

// Intercept passes every later POST to f first, unless f is nil; f returns true if it has answered.
func (h *HTTP) Intercept(f func(http.ResponseWriter, *http.Request) bool) { h.intercept.Store(&f) }

// ConnectHTTP returns a session with the server over streamable HTTP; both end with the test. The client never
// resumes a broken stream.
func ConnectHTTP(t testing.TB, server *mcp.Server, client *mcp.Client, version string) (*mcp.ClientSession, *HTTP) {
	t.Helper()
	transport, h := HTTPTransport(t, server, version)
	return Dial(t, client, transport, version), h
}

// HTTPTransport is the way to a server behind a real socket, which ends with the test.
func HTTPTransport(t testing.TB, server *mcp.Server, version string) (*mcp.StreamableClientTransport, *HTTP) {
	t.Helper()
	// A pool of its own, so that no connection of another test's server is used.
	h := &HTTP{pool: new(http.Transport)}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: version >= Modern})
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := h.intercept.Load()
		if r.Method != http.MethodPost || f == nil || *f == nil || !(*f)(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(h.Stop)
	return &mcp.StreamableClientTransport{
		Endpoint: h.URL, MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: h.pool},
	}, h
}

// Stop closes the socket and every connection. After it the address refuses.
func (h *HTTP) Stop() {
	h.pool.CloseIdleConnections()
	h.CloseClientConnections()
	h.Close()
}
