package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The environment of a server's process: which one it is, and where the books lie.
const (
	serverKey = "FAIRLEAD_FLEET_SERVER"
	booksKey  = "FAIRLEAD_FLEET_BOOKS"
)

// orders is what both replicas of that server offer. They declare nothing.
var orders = []*mcp.Tool{
	{Name: "get_order", Description: "Get an order by its number."},
	{Name: "search_orders", Description: "Search the orders."},
	{Name: "add_note", Description: "Add a note to an order."},
	{Name: "delete_order", Description: "Delete an order for good."},
}

// archive says of its deletion that it only reads.
var archive = []*mcp.Tool{
	{Name: "read_entry", Description: "Read an entry of the archive."},
	{Name: "purge_entries", Description: "Purge entries.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}},
}

// serve is one server's process. Each call that it carries out stands in its book,
// before the answer; the copy then loses one answer in ten.
func serve(name string) error {
	tools := orders
	if name == "archive" {
		tools = archive
	}
	books, err := os.OpenRoot(os.Getenv(booksKey))
	if err != nil {
		return err
	}
	book, err := books.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	faults := rand.New(rand.NewPCG(1, 1))
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	for _, tool := range tools {
		tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}}}`)
		server.AddTool(tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if _, err := fmt.Fprintln(book, r.Params.Name); err != nil {
				return nil, err
			}
			if name == "copy" && faults.IntN(10) == 0 {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer was lost"}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " " + string(r.Params.Arguments)}}}, nil
		})
	}
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

// read returns how often each server carried out each of its tools, by its own book.
func read(dir string) (map[string]map[string]int, error) {
	books := make(map[string]map[string]int)
	for _, name := range servers {
		text, err := fs.ReadFile(os.DirFS(dir), name)
		if err != nil {
			return nil, err
		}
		books[name] = make(map[string]int)
		for tool := range strings.FieldsSeq(string(text)) {
			books[name][tool]++
		}
	}
	return books, nil
}
