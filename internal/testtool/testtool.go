// Package testtool holds the doubles that the tests of many packages need.
package testtool

import (
	"context"

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
