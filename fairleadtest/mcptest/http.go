package mcptest

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
