package testserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTP is a server of the SDK behind a real socket.
type HTTP struct {
	*httptest.Server

	pool *http.Transport
	// Intercept, where it is not nil and returns true, has answered a POST itself.
	// Set it while no call is under way.
	Intercept func(w http.ResponseWriter, r *http.Request) bool
}

// ConnectHTTP returns a session with the server over streamable HTTP; both end
// with the test. The modern revision is served without sessions, as it must be.
// The client never resumes a broken stream, so that tests need not wait for it,
// and holds none open between calls.
func ConnectHTTP(t testing.TB, server *mcp.Server, client *mcp.Client, version string) (*mcp.ClientSession, *HTTP) {
	t.Helper()
	return ConnectHTTPThrough(t, server, client, version, func(base http.RoundTripper) http.RoundTripper { return base })
}

// ConnectHTTPThrough is [ConnectHTTP] with something around the client's
// transport.
func ConnectHTTPThrough(t testing.TB, server *mcp.Server, client *mcp.Client, version string,
	wrap func(http.RoundTripper) http.RoundTripper,
) (*mcp.ClientSession, *HTTP) {
	t.Helper()
	transport, h := HTTPTransport(t, server, version)
	transport.HTTPClient.Transport = wrap(transport.HTTPClient.Transport)
	return Dial(t, client, transport, version), h
}

// HTTPTransport is the way to a server behind a real socket, which ends with the
// test.
func HTTPTransport(t testing.TB, server *mcp.Server, version string) (*mcp.StreamableClientTransport, *HTTP) {
	t.Helper()
	// A pool of its own: a connection that another test's server left behind must
	// not be taken for one of this server's.
	h := &HTTP{pool: new(http.Transport)}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: version >= Modern})
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && h.Intercept != nil && h.Intercept(w, r) {
			return
		}
		handler.ServeHTTP(w, r)
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
