// Package testserver gives tests a real MCP server over the SDK's in-memory
// transport.
package testserver

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Handler answers one call from its raw arguments.
type Handler func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)

// Tool is a tool without annotations, with an object of anything as arguments.
func Tool(name, description string) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

// Text is a result of one text.
func Text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Add adds a tool to a server.
func Add(server *mcp.Server, tool *mcp.Tool, handle Handler) {
	server.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return handle(ctx, req.Params.Arguments)
	})
}

// New returns an empty server.
func New() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
}

// Connect returns a session of a client with the server; both end with the test.
func Connect(t testing.TB, server *mcp.Server, client *mcp.Client) *mcp.ClientSession {
	t.Helper()
	if client == nil {
		client = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	}
	theirs, ours := mcp.NewInMemoryTransports()
	ctx := context.Background()
	ss, err := server.Connect(ctx, theirs, nil)
	if err != nil {
		t.Fatalf("connect the server: %v", err)
	}
	cs, err := client.Connect(ctx, ours, nil)
	if err != nil {
		t.Fatalf("connect the client: %v", err)
	}
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Wait()
	})
	return cs
}
