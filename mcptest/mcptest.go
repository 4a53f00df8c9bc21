// Package mcptest gives tests real MCP sessions: with a server of the SDK in
// memory, over HTTP on the loopback and in a process of its own, and with a peer
// that says whatever the test wants.
package mcptest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
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

// The newest revision of the protocol that has an initialization, and the first
// that has none. The SDK treats the two differently nearly everywhere.
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

// Connect returns a session of a client with the server in memory; both end with
// the test. A nil client is a new one.
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

// Dial returns a session of a client over a transport; it ends with the test. A nil
// client is a new one.
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

// patience bounds what a test waits for; nothing that works takes this long, on a slow
// machine that does much else either.
const patience = 2 * time.Minute

// Context returns a context that ends before the test binary's own deadline
// would, so that a test that waits for ever says where.
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

// Main runs the tests of a package, or, in a process that
// [ChildTransport] started, one of the servers. Call it from TestMain.
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

// ChildTransport returns a transport over stdio that starts the test binary again as one
// of the servers that [Main] knows.
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
