package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// orders is what both replicas of that server offer. They declare nothing.
var orders = []mcp.Tool{
	{Name: "get_order", Description: "Get an order by its number."},
	{Name: "search_orders", Description: "Search the orders."},
	{Name: "add_note", Description: "Add a note to an order."},
	{Name: "delete_order", Description: "Delete an order for good."},
}

// archive declares that its deletion only reads.
var archive = []mcp.Tool{
	{Name: "read_entry", Description: "Read an entry of the archive."},
	{Name: "purge_entries", Description: "Purge entries.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}},
}

// executed counts what each server executed, by server and tool.
type executed struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

// serve returns one of the servers. It counts each call before it answers; the copy then
// loses one answer in ten.
func (e *executed) serve(name string, tools []mcp.Tool) *mcp.Server {
	e.counts[name] = make(map[string]int)
	faults := rand.New(rand.NewPCG(1, 1))
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	for _, tool := range tools {
		tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}}}`)
		s.AddTool(&tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.counts[name][r.Params.Name]++
			if name == "copy" && faults.IntN(10) == 0 {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer was lost"}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " " + string(r.Params.Arguments)}}}, nil
		})
	}
	return s
}
