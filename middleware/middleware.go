// Package middleware holds the contract of the chain: what a call is, who calls
// it, and what may wrap it.
//
// Every room of Fairlead imports this package and the annotations; this package
// imports none of them.
package middleware

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A ToolCaller calls a tool.
//
// CallTool returns exactly one of result and error. A failure that the tool
// itself reported is a result with IsError set. The call, its Tool and its
// Arguments are only read; a result belongs to the caller once it is returned.
// CallTool returns soon after ctx is done, with an error that says so. It is
// safe for concurrent use and leaves no goroutine behind.
//
// package middlewaretest checks these sentences.
type ToolCaller interface {
	CallTool(ctx context.Context, call Call) (*mcp.CallToolResult, error)
}

// A ToolCallerFunc is a function that calls a tool.
type ToolCallerFunc func(ctx context.Context, call Call) (*mcp.CallToolResult, error)

// CallTool calls f.
func (f ToolCallerFunc) CallTool(ctx context.Context, call Call) (*mcp.CallToolResult, error) {
	return f(ctx, call)
}

// A Middleware wraps a ToolCaller. It may answer by itself, refuse, change a
// copy of the call, or call next, more than once if that is harmless, but never
// after it has returned.
type Middleware func(next ToolCaller) ToolCaller

// A Call is one call of a tool on its way through the chain. It travels by
// value and costs no allocation; change the copy that you were given and hand
// it on.
type Call struct {
	// ID is one per call that the model asked for; all attempts share it. It is
	// for people and records; no rule rests on it.
	ID string
	// Scope says whose call it is: tenant, user or session. Nothing is shared
	// across scopes. The empty scope is one scope of its own, fit for one user.
	Scope string
	// Tool is shared and read-only: replace it, never write to it.
	Tool *Tool
	// Arguments is a JSON object, or nil for {}. The exact bytes that were
	// approved are the bytes that are sent.
	Arguments json.RawMessage
	// Meta is sent as the request's _meta. Read-only.
	Meta mcp.Meta
	// Input is the second leg of an input_required exchange, nil for nearly
	// every call.
	Input *Input
}

// Input answers what a server asked for in the middle of a call.
type Input struct {
	Responses mcp.InputResponseMap
	State     string // the server's requestState, opaque
}

// Promises is what an assembled chain enforces. The system prompt is written
// from it, so that no rule is claimed that nothing keeps. The zero value
// promises nothing.
type Promises struct {
	Guards        bool // dangerous and unknown calls are refused without a person's yes
	Confirms      bool // a person is asked before dangerous and unknown calls
	ConfirmsWrite bool // and before every other write
	Remembers     bool // repeated safe calls may be answered from memory
	Retries       bool // what is safe to repeat is repeated after a failure
	Limits        bool // calls are paced
	Deadlines     bool // every attempt has a time limit
}

// A Promiser is a ToolCaller that adds to what its chain enforces.
type Promiser interface {
	Promise(p *Promises)
}

// A Teller is a ToolCaller that says in a few words what it will do with the
// calls of a tool: "ask first", "never cache". It says "" where it does nothing
// that a reader of a table must know.
type Teller interface {
	Will(tool *Tool) string
}

// An Admitter is an executor that can refuse a call before anything is done about
// it. Admit is a middleware that passes what the executor would not refuse
// outright; chain.Standard hangs it after recover, and once more after preflight, in
// front of the person and the memory. The executor itself checks again.
type Admitter interface {
	Admit(next ToolCaller) ToolCaller
}

// Kinder is a ToolCaller that tells what it is: "hitl", "cache", "retry" and so
// on. With it an order can be read.
type Kinder interface {
	Kind() string
}

// An Unwrapper is a ToolCaller that tells which one it stands before, so that an
// order can be read through it, as through an error. Nothing is gained by it that
// the one who built the caller did not have; a guard never tells, since what it
// stands before is not to be called.
type Unwrapper interface {
	Unwrap() ToolCaller
}
