// Package mcptest gives tests real MCP sessions: with a server of the SDK in memory, over HTTP on the loopback or
// in its own process, and with a peer that sends whatever the test wants.
package mcptest

import (
	"context"
	"encoding/json"
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
