package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tools are the tools that a model may call: a *catalog.Catalog, or a *catalog.View of it for one caller.
type Tools interface {
	List() []*middleware.Tool
	Find(name string) (*middleware.Tool, error)
}

// HostOptions are the settings of [NewHost]. The zero value is ready.
type HostOptions struct {
	// Scope returns the tenant, user or session of the calls, from the context of the loop. Nothing is shared
	// across scopes. Nil means one scope for all calls, which fits one user.
	Scope func(ctx context.Context) string
	// Batch is how the calls of one turn are made; the zero value is that of [Run].
	Batch Options
}

// A Host is the tools of an agent behind their chain. It is safe for concurrent use.
type Host struct {
	tools  Tools
	caller middleware.ToolCaller
	o      HostOptions
}

// NewHost returns a host. The caller is a chain in front of the same tools. NewHost panics if one of them is nil.
func NewHost(tools Tools, caller middleware.ToolCaller, o HostOptions) *Host {
	if tools == nil || caller == nil {
		panic("batch: NewHost needs tools and a caller")
	}
	if o.Scope == nil {
		o.Scope = func(context.Context) string { return "" }
	}
	return &Host{tools: tools, caller: caller, o: o}
}

// Tools returns what a model may be given now. It finds a tool by its ModelName.
func (h *Host) Tools() []*middleware.Tool { return h.tools.List() }

// A ToolCall is one call as a model asks for it.
type ToolCall struct {
	ID        string          // the model's own, which becomes Call.ID; "" for none
	Name      string          // as the model was given it
	Arguments json.RawMessage // as the model wrote them, valid or not; none and null are {}
}

// Answer makes the calls of one turn as a batch does, and returns what the model may read of each, in their
// order. No result is nil: one of a failure, an unknown name or broken arguments has IsError set.
func (h *Host) Answer(ctx context.Context, asked ...ToolCall) []*mcp.CallToolResult {
	results := make([]*mcp.CallToolResult, len(asked))
	scope := h.o.Scope(ctx)
	var calls []middleware.Call
	var made []int
	for i, a := range asked {
		tool, err := h.tools.Find(a.Name)
		call := middleware.Call{ID: a.ID, Scope: scope, Tool: tool, Arguments: written(a.Arguments)}
		if err == nil {
			err = session.CheckArguments(call)
		}
		switch {
		case err != nil:
			results[i] = h.refused(ctx, call, a.Name, err)
		case len(asked) == 1:
			res, err := fault.Call(ctx, h.caller, call)
			results[i] = result(tool, res, err)
		default:
			calls, made = append(calls, call), append(made, i)
		}
	}
	if len(calls) == 0 {
		return results
	}
	for n, o := range h.o.Batch.Run(ctx, h.caller, calls) {
		results[made[n]] = result(o.Call.Tool, o.Result, o.Err)
	}
	return results
}

// Call makes one call of a tool that is known, for a loop that asks tool by tool. The result is never nil.
func (h *Host) Call(ctx context.Context, tool *middleware.Tool, id string, arguments json.RawMessage) *mcp.CallToolResult {
	call := middleware.Call{ID: id, Scope: h.o.Scope(ctx), Tool: tool, Arguments: written(arguments)}
	if err := session.CheckArguments(call); err != nil {
		return h.refused(ctx, call, tool.Name(), err)
	}
	res, err := fault.Call(ctx, h.caller, call)
	return result(tool, res, err)
}

// refused returns what the model reads of a call that cannot be made. A chain records it, and stops a loop of such calls.
func (h *Host) refused(ctx context.Context, call middleware.Call, name string, err error) *mcp.CallToolResult {
	tool := call.Tool
	if c, ok := h.caller.(interface {
		Refuse(ctx context.Context, call middleware.Call, err error) error
	}); ok {
		if tool == nil {
			call.Tool = named(name)
		}
		err = c.Refuse(ctx, call, err)
	}
	return output.Failure(tool, err)
}

// named returns a tool of a name that no tool has, for the record.
func named(name string) *middleware.Tool {
	server, tool, ok := strings.Cut(name, "__")
	if !ok {
		server, tool = "", name
	}
	return &middleware.Tool{Server: server, Definition: &mcp.Tool{Name: tool}}
}

// written returns the arguments that a model wrote. Some write null for none.
func written(arguments json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(arguments)) == "null" {
		return json.RawMessage("{}")
	}
	return arguments
}

// result returns what the model reads of a call.
func result(tool *middleware.Tool, res *mcp.CallToolResult, err error) *mcp.CallToolResult {
	switch {
	case err != nil:
		return output.Failure(tool, err)
	case res.NeedsInput() || len(res.InputRequests) > 0 || res.RequestState != "":
		err := fmt.Errorf("batch: %s asks for input; a loop has no way to ask for it", tool)
		return output.Failure(tool, fault.Told(err, true,
			tool.ModelName()+" asks for more than its arguments, and that cannot be given here. Do not call it again; tell the user."))
	}
	return res
}

// ResultError returns the failure that a result reports as an error with the same text,
// for an SDK that has failures only as errors. It returns nil for any other result.
func ResultError(res *mcp.CallToolResult) error {
	if res == nil || !res.IsError {
		return nil
	}
	return fault.Plain("%s", output.Text(res))
}
