package proxy

import (
	"context"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recordRefusal records a call that was refused before the chain, by the name that the client gave if
// the tool is unknown.
func (s *session) recordRefusal(ctx context.Context, m *message, name string, tool *middleware.Tool, err error) {
	if s.proxy.trail == nil {
		return
	}
	if tool == nil {
		tool = &middleware.Tool{Definition: &mcp.Tool{Name: name}}
		if len(s.servers) == 1 {
			tool.Server = s.servers[0].Name
		}
	}
	_, _ = s.proxy.trail.Record(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, err
	})).CallTool(ctx, middleware.Call{ID: m.id(), Scope: s.scope, Tool: tool})
}

// A refusal ends a call without a question to a person.
type refusal struct {
	error

	told  string // to the model
	by    string // where it is decided
	later bool   // the same call may be taken later
}

func (e *refusal) Unwrap() error     { return e.error }
func (e *refusal) ForModel() string  { return e.told }
func (e *refusal) RefusedBy() string { return e.by }
func (e *refusal) NotSent() bool     { return true }
func (e *refusal) Permanent() bool   { return !e.later }

// invalid refuses a call that two readers could take for different ones, or that names no tool.
func invalid(text string) error {
	return &refusal{error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}, by: "proxy"}
}
