// Package testtool holds the doubles that the tests of many packages need.
package testtool

import (
	"context"
	"slices"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// New returns a tool with these annotations that takes any object.
func New(server, name string, a annotation.Annotations) *middleware.Tool {
	return Of(server, &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, a)
}

// Of returns a tool of a definition. It panics if the definition cannot be written as JSON.
func Of(server string, def *mcp.Tool, a annotation.Annotations) *middleware.Tool {
	tool, err := middleware.NewTool(server, def, a)
	if err != nil {
		panic(err)
	}
	return tool
}

// Answering returns an executor that answers every call with these.
func Answering(res *mcp.CallToolResult, err error) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return res, err })
}

// A Recorder keeps the calls that reach it and answers each with an empty result.
type Recorder struct {
	mu    sync.Mutex
	calls []middleware.Call
}

// CallTool keeps the call.
func (r *Recorder) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return &mcp.CallToolResult{}, nil
}

// Calls returns the calls that have arrived, in order.
func (r *Recorder) Calls() []middleware.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}
