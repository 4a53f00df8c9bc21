package proxy

import (
	"context"
	"errors"

	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A refuser is a chain that takes calls which cannot be made, for its record and its budget (see package chain).
type refuser interface {
	Refuse(ctx context.Context, call middleware.Call, err error) error
}

// recordRefusal has a call that cannot be made recorded and counted, and returns why it is not made: err, or that it is
// one of a loop.
func (s *session) recordRefusal(ctx context.Context, m *message, call middleware.Call, err error) error {
	call.ID, call.Scope = m.id(), s.scope
	return s.proxy.plan().refuser.Refuse(ctx, call, err)
}

// cannotCall is [session.refused] for a call that does not reach the chain.
func (s *session) cannotCall(ctx context.Context, m *message, call middleware.Call, err error) (*message, bool) {
	err = s.recordRefusal(ctx, m, call, err)
	if _, loops := errors.AsType[*budget.StoppedError](err); !loops {
		call = middleware.Call{}
	}
	return s.refused(ctx, m, call, err)
}

// calledBy returns a tool of the name that a client gave, which may be that of no tool.
func (s *session) calledBy(name string) *middleware.Tool {
	tool := &middleware.Tool{Definition: &mcp.Tool{Name: name}}
	if len(s.servers) == 1 {
		tool.Server = s.servers[0].Name
	}
	return tool
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
