// Package middleware holds the contract of the chain: what a call is, what calls it, and what may wrap it.
// Every package of Fairlead imports this one and the annotations; this package imports none of the others.
package middleware

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A ToolCaller calls a tool.
//
// CallTool returns exactly one of result and error. A failure that the tool itself reported is a result with
// IsError set. The call, its Tool and its Arguments are only read; a result belongs to the caller once it is
// returned. CallTool returns soon after ctx is done, with an error that reports that. It is safe for concurrent use and
// leaves no goroutine behind.
//
// package middlewaretest checks these sentences.
type ToolCaller interface {
	CallTool(ctx context.Context, call Call) (*mcp.CallToolResult, error)
}

// A ToolCallerFunc is a function that calls a tool.
type ToolCallerFunc func(ctx context.Context, call Call) (*mcp.CallToolResult, error)

func (f ToolCallerFunc) CallTool(ctx context.Context, call Call) (*mcp.CallToolResult, error) {
	return f(ctx, call)
}

// A Middleware wraps a ToolCaller. It may answer by itself, refuse, change a copy of the call, or
// call next, more than once if that is harmless, but never after it has returned.
//
// A value may be used in several chains: each application calls its own next. Its state, such as cached
// results, tokens and costs, belongs to the value, so these chains share it. A chain that is to share nothing
// gets a value of its own.
type Middleware func(next ToolCaller) ToolCaller

// A Call is one call of a tool on its way through the chain. It travels by value and costs no allocation;
// change the copy and pass it on.
type Call struct {
	// ID is one per call that the model asked for; all attempts share it. No rule rests on it.
	ID string
	// Scope names the tenant, user or session. Nothing is shared across scopes. The empty scope is one of its
	// own, for a single user.
	Scope string
	// Tool is shared and read-only: replace it, never write to it.
	Tool *Tool
	// Arguments is a JSON object, or nil for {}. The exact bytes that were approved are sent.
	Arguments json.RawMessage
	// Meta is sent as the request's _meta. Read-only.
	Meta mcp.Meta
	// Input is the second leg of an input_required exchange, nil for nearly every call.
	Input *Input
	// Params are further members of the request's params, for which there is no field here, such as task of MCP
	// 2025-11-25; nil for nearly every call. They are sent as they are, an approval covers them, and a server that is
	// called through the Go SDK cannot get them, so that its call is refused. Read-only.
	Params map[string]json.RawMessage
}

// Input answers what a server asked for in the middle of a call.
type Input struct {
	Responses mcp.InputResponseMap
	State     string // the server's requestState, opaque
}

// A Describer is a ToolCaller that describes itself.
type Describer interface {
	Describe() Description
}

// A Description is what a ToolCaller, or a whole chain, does. Package chain and the system prompt rely on it.
type Description struct {
	// Kind names the middleware: "hitl", "cache", "retry" and so on.
	Kind string
	// Next is the ToolCaller that it wraps; nil for a guard and an executor.
	Next ToolCaller
	// Plan returns in a few words what it does with the calls of a tool, such as "ask first", or "". Nil
	// means nothing.
	Plan func(tool *Tool) string

	Guards         bool // Dangerous and Unknown calls are refused without an approval
	Confirms       bool // a person is asked before Dangerous and Unknown calls
	ConfirmsWrites bool // and before every other write
	Caches         bool // repeated Safe calls may be answered from a cache
	Retries        bool // what is safe to repeat is repeated after a failure
	Limits         bool // calls are limited in rate
	Deadlines      bool // every attempt has a time limit
}
