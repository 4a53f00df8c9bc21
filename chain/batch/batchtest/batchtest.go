// Package batchtest is a kit for the tests of adapters of model APIs: tools that record
// their executions, a chain in front of them, and a person who approves or denies.
package batchtest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The results of the tools, and the reason of a denial.
const (
	Text       = "Note read."              // get_note, in its content
	Structured = `{"title":"fresh paint"}` // and in its structured content
	Reason     = "keep it, it is the only copy"
	Picture    = "\x89PNG pixels" // get_picture
)

// A Desk is a catalog of a server "notes" behind a chain. Of its tools, only delete_note needs an approval.
type Desk struct {
	Tools  *catalog.Catalog
	Caller middleware.ToolCaller
	Yes    bool // the person approves; false denies

	mu    sync.Mutex
	calls []middleware.Call
	asked []hitl.Request
}

// New returns a Desk, which is closed when the test ends.
func New(tb testing.TB) *Desk {
	tb.Helper()
	d := &Desk{Tools: catalog.New(catalog.Options{})}
	tb.Cleanup(func() { _ = d.Tools.Close() })
	schema := map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}, "required": []any{"id"}}
	var tools []*mcp.Tool
	for name, a := range map[string]annotation.Annotations{
		"get_note": annotation.ReadOnly(), "get_picture": annotation.ReadOnly(), "create_note": annotation.Write(), "delete_note": annotation.Destructive(),
	} {
		tools = append(tools, annotation.Declare(&mcp.Tool{Name: name, Description: "About notes.", InputSchema: schema}, a))
	}
	if err := d.Tools.AddTools("notes", middleware.ToolCallerFunc(d.execute), tools...); err != nil {
		tb.Fatal(err)
	}
	d.Tools.Trust("notes")
	d.Caller = chain.Standard{
		Output: output.New(output.Options{}), Cache: cache.New(cache.Options{}), Confirm: hitl.New(hitl.ConfirmerFunc(d.confirm), hitl.Options{}),
	}.Then(d.Tools)
	return d
}

func (d *Desk) execute(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
	if call.Tool.Name() == "get_picture" {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "A picture:"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte(Picture)}}}, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: Text}}, StructuredContent: json.RawMessage(Structured)}, nil
}

func (d *Desk) confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r)
	if d.Yes {
		return hitl.Decision{Verdict: hitl.Approved}, nil
	}
	return hitl.Decision{Reason: Reason}, nil
}

// Calls returns the calls that were executed.
func (d *Desk) Calls() []middleware.Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]middleware.Call(nil), d.calls...)
}

// Asked returns the requests for approval.
func (d *Desk) Asked() []hitl.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]hitl.Request(nil), d.asked...)
}
