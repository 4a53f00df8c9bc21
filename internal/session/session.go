// Package session makes an MCP session the end of a chain, with errors that report what is known of the call.
package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/rawresult"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Caller is what a session does with a call; *mcp.ClientSession is one.
type Caller interface {
	CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// A Sender is a Caller that takes the call as it is, with what the SDK's params have no field for.
type Sender interface {
	SendCall(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error)
}

// Executor returns the unguarded end of a chain. It checks the arguments once more, so that no text reaches a
// server that two parsers could read differently. The reports of HTTP about a call are watched unless the session has a
// method OverHTTP that returns false. A [Sender] gets the call itself; any other session cannot send a call's Params, so
// that such a call is refused.
func Executor(session Caller) middleware.ToolCaller {
	http := true
	if s, ok := session.(interface{ OverHTTP() bool }); ok {
		http = s.OverHTTP()
	}
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if _, err := callstate.Form(callstate.Sending(ctx), &call); err != nil {
			return nil, err
		}
		sent, wire := callstate.WithSent(ctx, &call), (*sdkerr.Wire)(nil)
		if http {
			sent, wire = sdkerr.Watch(sent)
		}
		sent, answer := rawresult.Watch(sent)
		res, err := send(sent, session, call)
		if unread := unread(answer.Raw(), err); unread != nil && ctx.Err() == nil {
			return nil, fault.Unread(call, answer.Raw(), unread)
		}
		if err != nil {
			return nil, sdkerr.Sort(ctx, wire, call.Tool.Server, call.Tool.Name(), err)
		}
		if res == nil {
			return nil, &fault.NoResultError{Tool: call.Tool}
		}
		if err := ended(call, res); err != nil {
			return nil, err
		}
		if answer.Raw() != nil {
			rawresult.Restore(res, answer.Raw())
		}
		return res, nil
	})
}

// send has a session call the tool.
func send(ctx context.Context, session Caller, call middleware.Call) (*mcp.CallToolResult, error) {
	if s, ok := session.(Sender); ok {
		return s.SendCall(ctx, call)
	}
	if len(call.Params) > 0 {
		return nil, fault.Told(&middleware.NotSentError{Err: fmt.Errorf("session: the call of %s has the params %q, which the Go SDK cannot send; make it without them",
			call.Tool, slices.Sorted(maps.Keys(call.Params)))}, true, call.Tool.ModelName()+" was not called: the call has params that cannot be sent. Make it without them.")
	}
	return session.CallTool(ctx, params(call))
}

// unread returns why an answer that arrived was not read, nil if it was or if none arrived. err is the session's.
func unread(answer json.RawMessage, err error) error {
	if answer == nil {
		return nil
	}
	if why := cmp.Or(rawresult.Check(answer), rawresult.Known(answer)); why != nil {
		return why
	}
	if _, failed := errors.AsType[*jsonrpc.Error](err); failed { // to a later request of the same call
		return nil
	}
	return err
}

// params are made anew for each attempt, since the SDK writes into them.
func params(call middleware.Call) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Meta: maps.Clone(call.Meta), Name: call.Tool.Name()}
	if len(bytes.TrimSpace(call.Arguments)) > 0 {
		p.Arguments = call.Arguments
	} else {
		p.Arguments = map[string]any{}
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

// ended returns an error for a task or another unknown type of result, which the SDK reads as an empty success.
func ended(call middleware.Call, res *mcp.CallToolResult) error {
	if len(res.Content) > 0 || res.StructuredContent != nil || res.IsError || res.NeedsInput() {
		return nil
	}
	var wire struct {
		ResultType string `json:"resultType"`
	}
	raw, err := json.Marshal(res)
	if err != nil || json.Unmarshal(raw, &wire) != nil || wire.ResultType == "" || wire.ResultType == "complete" {
		return nil //nolint:nilerr // such a result is the caller's to read
	}
	told := call.Tool.ModelName() + " has begun and has not ended: its server goes on with it as a task. Do not call it again; tell the user."
	err = fault.Told(fmt.Errorf("session: %s was answered with a result of the type %.80q, so it has not ended", call.Tool, wire.ResultType), true, told)
	if call.Tool.Safety() == annotation.Safe {
		return err
	}
	return &middleware.OutcomeUnknownError{Tool: call.Tool, Check: told, Err: err}
}
