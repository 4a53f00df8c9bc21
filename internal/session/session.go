// Package session makes an MCP session the end of a chain: it sends a call and
// says of every failure what is known about it.
package session

import (
	"bytes"
	"context"
	"maps"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
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
		if _, err := callstate.Form(callstate.Sending(ctx), &call); err != nil {
			return nil, err
		}
		watched, wire := sdkerr.Watch(callstate.WithSent(ctx, &call))
		res, err := session.CallTool(watched, params(call))
		if err != nil {
			return nil, sdkerr.Sort(ctx, wire, call.Tool.Server, call.Tool.Name(), err)
		}
		if res == nil {
			return nil, &fault.NoResultError{Tool: call.Tool}
		}
		return res, nil
	})
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

// CheckArguments refuses arguments that are not one unambiguous JSON object.
func CheckArguments(call middleware.Call) error {
	_, err := callstate.Form(nil, &call)
	return err
}
