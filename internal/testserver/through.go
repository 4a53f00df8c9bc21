package testserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Memory returns the way to a server in memory, for one session.
func Memory(t testing.TB, server *mcp.Server) mcp.Transport {
	t.Helper()
	theirs, ours := mcp.NewInMemoryTransports()
	ss, err := server.Connect(context.Background(), theirs, nil)
	if err != nil {
		t.Fatalf("connect the server: %v", err)
	}
	t.Cleanup(func() { _ = ss.Wait() })
	return ours
}

// Process returns the way to one of the servers that [Main] knows, in a process of
// its own.
func Process(t testing.TB, name string) mcp.Transport {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childKey+"="+name)
	return &mcp.CommandTransport{Command: cmd}
}

// Web returns the way to a server over streamable HTTP, as [ConnectHTTP] goes it.
// wrap goes around the client's transport.
func Web(t testing.TB, server *mcp.Server, version string, wrap func(http.RoundTripper) http.RoundTripper) *mcp.StreamableClientTransport {
	t.Helper()
	pool := new(http.Transport)
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: version >= Modern}))
	t.Cleanup(func() {
		pool.CloseIdleConnections()
		h.CloseClientConnections()
		h.Close()
	})
	return &mcp.StreamableClientTransport{
		Endpoint: h.URL, MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: wrap(pool)},
	}
}

// Dial connects a client; the session ends with the test.
func Dial(t testing.TB, client *mcp.Client, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	cs := dial(t, client, transport, version)
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}
