package catalog

import (
	"context"
	"log/slog"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// CallTool calls the tool on its server. The guard stands here: a Dangerous or
// Unknown call without a person's yes is refused, and the class is that of the
// accepted definition, whatever the call carries.
func (c *Catalog) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return c.guarded.CallTool(ctx, call)
}

// Describe implements [middleware.Describer].
func (*Catalog) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

func (c *Catalog) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	now, id := c.current.Load(), name{call.Tool.Server, call.Tool.Name()}
	// Another server may have come in the place of the one that the guard saw.
	switch tool := now.tools[id].tool; {
	case tool == nil:
		return nil, &UnknownToolError{Server: id.server, Tool: id.tool}
	case tool.Digest != call.Tool.Digest:
		return nil, &ChangedError{Tool: tool}
	}
	return now.executors[id.server].CallTool(ctx, call)
}

// Guard stands before an executor other than the catalogue's own sessions that
// calls the same tools. It takes their class from the catalogue and refuses what
// the catalogue does not know.
func (c *Catalog) Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return c.guard(executor, everyTool)
}

// guard stands before an executor of tools for one who sees some of them.
func (c *Catalog) guard(executor middleware.ToolCaller, sees func(*middleware.Tool) bool) middleware.ToolCaller {
	return guard.New(c.meter.Metered(executor), func(ctx context.Context, call middleware.Call) (*middleware.Tool, error) {
		return c.accepted(ctx, call, sees)
	})
}

// CallTool calls the tool on its server, behind the catalogue's guard.
func (v *View) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return v.guarded.CallTool(ctx, call)
}

// Describe implements [middleware.Describer].
func (*View) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

// Guard is [Catalog.Guard] for this caller.
func (v *View) Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return v.c.guard(executor, v.sees)
}

// Admit is a middleware that refuses what the view does not show, and what its
// catalogue would refuse, before anything else is done about the call: nobody is
// asked about it, and no memory that is shared with other callers answers it.
// chain.Standard puts it where it belongs; in front of a chain of another order,
// hang it by hand.
func (v *View) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	return &admitter{next: next, c: v.c, sees: v.sees, limits: true}
}

// Admit is [View.Admit] for a caller who may use every tool.
func (c *Catalog) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	return &admitter{next: next, c: c, sees: everyTool}
}

func everyTool(*middleware.Tool) bool { return true }

type admitter struct {
	next   middleware.ToolCaller
	c      *Catalog
	sees   func(*middleware.Tool) bool
	limits bool
}

// Describe implements [middleware.Describer].
func (a *admitter) Describe() middleware.Description {
	return middleware.Description{Kind: "admit", Next: a.next}
}

func (a *admitter) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool != nil && call.Tool.Definition != nil { // the guard has words for that
		if _, err := a.c.accepted(ctx, call, a.sees); err != nil {
			return nil, err
		}
	}
	if a.limits { // also where a route leads past the view
		ctx = callstate.WithLimit(ctx, a.sees)
	}
	return a.next.CallTool(ctx, call)
}

// accepted returns the tool that a call names as it is accepted now, or why the
// call is refused. To one who does not see a tool it is not there.
func (c *Catalog) accepted(ctx context.Context, call middleware.Call, sees func(*middleware.Tool) bool) (*middleware.Tool, error) {
	callstate.Observe("lookup")
	now, id := c.current.Load(), name{call.Tool.Server, call.Tool.Name()}
	tool, held := now.tools[id].tool, now.held[id]
	switch {
	case tool != nil && !(sees(tool) && callstate.Sees(ctx, tool)), held.tool != nil && !sees(held.tool):
		c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a call was refused, since no scope of its caller covers the tool",
			slog.String("server", id.server), slog.String("tool", id.tool))
	case held.tool != nil:
		return nil, held.err
	case tool != nil && tool.Digest != call.Tool.Digest:
		return nil, &ChangedError{Tool: tool}
	case tool != nil:
		return tool, seesArguments(ctx, call, tool, sees)
	}
	return nil, &UnknownToolError{Server: id.server, Tool: id.tool}
}

// seesArguments refuses a call that preflight found to be more than its tool: of
// another class, or of a higher level, than the scopes cover.
func seesArguments(ctx context.Context, call middleware.Call, tool *middleware.Tool, sees func(*middleware.Tool) bool) error {
	call.Tool = tool
	found, ok := callstate.Answered(ctx, &call)
	if !ok {
		return nil
	}
	answered := *tool
	answered.Annotations = annotation.Raise(tool.Annotations, found)
	if !sees(&answered) {
		return &NotCoveredError{Tool: &answered}
	}
	return nil
}
