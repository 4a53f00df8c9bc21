// Package loop answers a model: what it asks for in one turn, by name, goes through
// a chain, and comes back as results that it can read, each to its own call. The
// adapters under contrib/ are thin around it; a loop of one's own needs no more.
package loop

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/batch"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tools are those that a model is given, and may ask for: a *catalog.Catalog, or a
// *catalog.View of it for one caller.
type Tools interface {
	List() []*middleware.Tool
	Find(name string) (*middleware.Tool, error)
}

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Scope says whose calls they are: tenant, user or session, by the context that the
	// loop runs under. Nothing is remembered across scopes. Nil means one scope for all,
	// fit for one user.
	Scope func(ctx context.Context) string
	// Batch is how the calls of one turn are made; the zero value is that of package
	// batch.
	Batch batch.Options
}

// A Host is the tools of an agent behind their chain. It is safe for concurrent use.
type Host struct {
	tools  Tools
	caller middleware.ToolCaller
	alone  middleware.ToolCaller // for one call, whose panic is an error
	o      Options
}

// New returns a host. The caller is a chain in front of the same tools. It panics
// where one of them is nil.
func New(tools Tools, caller middleware.ToolCaller, o Options) *Host {
	if tools == nil || caller == nil {
		panic("loop: New needs tools and a caller")
	}
	if o.Scope == nil {
		o.Scope = func(context.Context) string { return "" }
	}
	return &Host{tools: tools, caller: caller, alone: fault.Recover(caller), o: o}
}

// Tools returns what a model may be given now. It knows a tool by its ModelName.
func (h *Host) Tools() []*middleware.Tool { return h.tools.List() }

// A Request is one call as a model asks for it.
type Request struct {
	ID        string          // the model's own, which becomes Call.ID; "" for none
	Name      string          // as the model was given it
	Arguments json.RawMessage // as the model wrote them, valid or not; none is {}
}

// Answer makes the calls of one turn as a batch does, and returns what the model is to
// read of each, in their order. What goes wrong with one of them, a name that nobody
// knows or arguments that are no JSON among it, is its own result with IsError set. No
// result is nil.
func (h *Host) Answer(ctx context.Context, requests ...Request) []*mcp.CallToolResult {
	results := make([]*mcp.CallToolResult, len(requests))
	if len(requests) == 1 {
		results[0] = h.one(ctx, requests[0])
		return results
	}
	scope := h.o.Scope(ctx)
	calls, made := make([]middleware.Call, 0, len(requests)), make([]int, 0, len(requests))
	for i, r := range requests {
		call, failure := h.call(scope, r)
		if results[i] = failure; failure == nil {
			calls, made = append(calls, call), append(made, i)
		}
	}
	for n, o := range h.o.Batch.Run(ctx, h.caller, calls) {
		results[made[n]] = result(o.Call.Tool, o.Result, o.Err)
	}
	return results
}

func (h *Host) one(ctx context.Context, r Request) *mcp.CallToolResult {
	call, failure := h.call(h.o.Scope(ctx), r)
	if failure != nil {
		return failure
	}
	res, err := h.alone.CallTool(ctx, call)
	return result(call.Tool, res, err)
}

// call returns the call that is asked for, or why it is none.
func (h *Host) call(scope string, r Request) (middleware.Call, *mcp.CallToolResult) {
	tool, err := h.tools.Find(r.Name)
	if err != nil {
		return middleware.Call{}, output.Failure(nil, err)
	}
	call := middleware.Call{ID: r.ID, Scope: scope, Tool: tool, Arguments: r.Arguments}
	if err := session.CheckArguments(call); err != nil {
		return call, output.Failure(tool, err)
	}
	return call, nil
}

// Call makes one call of a tool that is known, for a loop that asks tool by tool. The
// result is never nil.
func (h *Host) Call(ctx context.Context, tool *middleware.Tool, id string, arguments json.RawMessage) *mcp.CallToolResult {
	call := middleware.Call{ID: id, Scope: h.o.Scope(ctx), Tool: tool, Arguments: arguments}
	if err := session.CheckArguments(call); err != nil {
		return output.Failure(tool, err)
	}
	res, err := h.alone.CallTool(ctx, call)
	return result(tool, res, err)
}

// result is what a model reads of the end of a call.
func result(tool *middleware.Tool, res *mcp.CallToolResult, err error) *mcp.CallToolResult {
	switch {
	case err != nil:
		return output.Failure(tool, err)
	case res.NeedsInput() || len(res.InputRequests) > 0 || res.RequestState != "":
		return output.Failure(tool, inputError{tool})
	}
	return res
}

// An inputError stands for a tool that asks back, since a loop has nobody to ask.
type inputError struct{ tool *middleware.Tool }

func (e inputError) Error() string {
	return fmt.Sprintf("loop: %s asks for input; a loop has no way to it", e.tool)
}

func (e inputError) ForModel() string {
	return e.tool.ModelName() + " asks for more than its arguments, and that cannot be given here. Do not call it again; tell the user."
}

// Permanent reports that the same call would only ask again.
func (inputError) Permanent() bool { return true }

// Err returns the failure that a result tells of as an error with the same text, for an
// SDK that knows failures as errors alone, and nil for any other result.
func Err(res *mcp.CallToolResult) error {
	if res == nil || !res.IsError {
		return nil
	}
	return &failure{output.Text(res)}
}

type failure struct{ text string }

func (f *failure) Error() string    { return f.text }
func (f *failure) ForModel() string { return f.text }
