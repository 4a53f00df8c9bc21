// Package session makes an MCP session the end of a chain: it sends a call and
// says of every failure what is known about it.
package session

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Caller is what a session does with a call; *mcp.ClientSession is one.
type Caller interface {
	CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// Executor returns the unguarded end of a chain. The arguments are checked once
// more here, so that no text reaches a server that two parsers could read
// differently.
func Executor(session Caller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if err := CheckArguments(call); err != nil {
			return nil, err
		}
		watched, wire := sdkerr.Watch(context.WithValue(ctx, outerKey{}, outer{call.ID, call.Scope}))
		res, err := session.CallTool(watched, params(call))
		if err != nil {
			return nil, sdkerr.Sort(ctx, wire, call.Tool.Server, call.Tool.Name(), err)
		}
		if res == nil {
			return nil, &middleware.NoAnswerError{Tool: call.Tool}
		}
		return res, nil
	})
}

type outerKey struct{}

type outer struct{ id, scope string }

// Outer returns the ID and the scope of the call that an executor further out is
// sending through the SDK, whose types have no place for them. A chain that hangs
// beneath the session goes on with them.
func Outer(ctx context.Context) (id, scope string) {
	o, _ := ctx.Value(outerKey{}).(outer)
	return o.id, o.scope
}

// params are made anew for each attempt, since the SDK writes into them.
func params(call middleware.Call) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Meta: maps.Clone(call.Meta), Name: call.Tool.Name(), Arguments: map[string]any{}}
	if len(bytes.TrimSpace(call.Arguments)) > 0 {
		p.Arguments = call.Arguments
	}
	if call.Input != nil {
		p.InputResponses, p.RequestState = maps.Clone(call.Input.Responses), call.Input.State
	}
	return p
}

// CheckArguments refuses arguments that are no unambiguous JSON object.
func CheckArguments(call middleware.Call) error {
	_, err := canonical.AppendObject(nil, call.Arguments)
	return ArgumentsError(call, err)
}

// ArgumentsError names the tool whose arguments are at fault, nil for nil.
func ArgumentsError(call middleware.Call, err error) error {
	if err == nil {
		return nil
	}
	return &argumentsError{call.Tool, err}
}

// An argumentsError is about what the model wrote, and it can mend it.
type argumentsError struct {
	tool *middleware.Tool
	err  error
}

func (e *argumentsError) Error() string {
	return fmt.Sprintf("the arguments of %s are refused: %v; send one JSON object, each member once", e.tool, e.err)
}

func (e *argumentsError) Unwrap() error { return e.err }

func (e *argumentsError) ForModel() string {
	return fmt.Sprintf("The arguments for %s are refused: %v. Send one JSON object, each member once.", e.tool.ModelName(), e.err)
}
