package catalog

import (
	"context"
	"log/slog"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/grant"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// CallTool calls the tool on its server. The guard stands here: a Dangerous or
// Unknown call without a person's yes is refused, and the class is that of the
// accepted definition, whatever the call carries.
func (c *Catalog) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return c.guarded.CallTool(ctx, call)
}

// Promise says that the catalogue is guarded.
func (c *Catalog) Promise(p *middleware.Promises) { p.Guards = true }

// Kind returns "guard", since nothing stands between it and the servers.
func (*Catalog) Kind() string { return "guard" }

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
	return grant.Guard(c.meter.Metered(executor), func(ctx context.Context, call middleware.Call) (*middleware.Tool, error) {
		return c.accepted(ctx, call, sees)
	})
}

// CallTool calls the tool on its server, behind the catalogue's guard.
func (v *View) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return v.guarded.CallTool(ctx, call)
}

// Promise says that the view is guarded.
func (*View) Promise(p *middleware.Promises) { p.Guards = true }

// Kind returns "guard", since nothing stands between it and the servers.
func (*View) Kind() string { return "guard" }

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
	return &admitter{next: next, c: v.c, sees: v.sees}
}

// Admit is [View.Admit] for a caller who may use every tool.
func (c *Catalog) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	return &admitter{next: next, c: c, sees: everyTool}
}

func everyTool(*middleware.Tool) bool { return true }

type admitter struct {
	next middleware.ToolCaller
	c    *Catalog
	sees func(*middleware.Tool) bool
}

func (*admitter) Kind() string                    { return "admit" }
func (a *admitter) Unwrap() middleware.ToolCaller { return a.next }

func (a *admitter) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool != nil && call.Tool.Definition != nil { // the guard has words for that
		if _, err := a.c.accepted(ctx, call, a.sees); err != nil {
			return nil, err
		}
	}
	return a.next.CallTool(ctx, call)
}

// accepted returns the tool that a call names as it is accepted now, or why the
// call is refused. To one who does not see a tool it is not there.
func (c *Catalog) accepted(ctx context.Context, call middleware.Call, sees func(*middleware.Tool) bool) (*middleware.Tool, error) {
	now, id := c.current.Load(), name{call.Tool.Server, call.Tool.Name()}
	tool, held := now.tools[id].tool, now.held[id]
	switch {
	case tool != nil && !sees(tool), held.tool != nil && !sees(held.tool):
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
	found, ok := grant.Answered(ctx, &call)
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
