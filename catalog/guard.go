package catalog

import (
	"context"
	"log/slog"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A caller is the catalog as one caller sees it. A tool that it does not see is an unknown tool in every way.
type caller struct {
	c      *Catalog
	sees   func(*middleware.Tool) bool
	view   bool
	lookup guard.Lookup
}

func newCaller(c *Catalog, sees func(*middleware.Tool) bool, view bool) *caller {
	v := &caller{c: c, sees: sees, view: view}
	v.lookup = v.lookupFor(nil)
	return v
}

func (v *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	res, err := guard.Call(ctx, &call, v.lookup)
	if err == nil {
		v.c.observe(call.Tool, res)
	}
	return res, err
}

func (*caller) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

// Guard returns another executor of the same tools behind a guard that takes their class from the catalog.
func (v *caller) Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("catalog: a guard needs an executor; got nil")
	}
	return guard.For(v.lookupFor(executor))
}

// lookupFor finds the targets of calls, which the executor executes, or that of each server if it is nil.
func (v *caller) lookupFor(executor middleware.ToolCaller) guard.Lookup {
	return func(ctx context.Context, call middleware.Call) (guard.Target, error) {
		tool, now, err := v.accepted(ctx, call)
		if err != nil {
			return guard.Target{}, err
		}
		from := now.sources[tool.Server]
		// Another session that takes the id of the server does not get what was admitted for this one.
		if was := callstate.AdmittedTo(ctx); was.Server == tool.Server && was.Session != from.lister.id() {
			return guard.Target{}, &ChangedError{Tool: tool}
		}
		target := from.target
		if target.Tool = tool; executor != nil {
			target.Next = executor
		}
		return target, nil
	}
}

// accepted returns the tool that a call names, as it is accepted in the snapshot that it returns too, or why the call
// is refused. A tool that the caller does not see is unknown to it, so that a refusal does not show that it exists.
func (v *caller) accepted(ctx context.Context, call middleware.Call) (*middleware.Tool, *snapshot, error) {
	callstate.Observe("lookup")
	now, id := v.c.current.Load(), name{call.Tool.Server, call.Tool.Name()}
	tool, held := asCalled(now.tools[id].tool, call.Tool.Called), now.held[id]
	switch {
	case tool != nil && !(v.sees(tool) && callstate.Sees(ctx, tool)), held.tool != nil && !(v.sees(held.tool) && v.sees(held.was)):
		v.c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a call was refused, since no scope of its caller covers the tool",
			slog.String("server", id.server), slog.String("tool", id.tool))
	case held.tool != nil:
		return nil, nil, held.err
	case tool != nil && tool.Digest != call.Tool.Digest:
		return nil, nil, &ChangedError{Tool: tool}
	case tool != nil:
		call.Tool = tool
		if more := scope.Uncovered(ctx, call, v.sees); more != nil {
			return tool, now, &NotCoveredError{Tool: more}
		}
		return tool, now, nil
	}
	return nil, nil, &UnknownToolError{Server: id.server, Tool: id.tool}
}

// asCalled returns the tool with the name that the call has for it.
func asCalled(tool *middleware.Tool, called string) *middleware.Tool {
	if tool == nil || called == "" {
		return tool
	}
	its := *tool
	its.Called = called
	return &its
}

// source returns what the guard of a call needs of its server: it checks the snapshot, and reads a list that was announced.
func (c *Catalog) source(s *snapshot, id string, known *server) source {
	n := known.lister
	return source{n, guard.Target{
		Next: known.executor, Current: func() bool { return c.current.Load() == s && !n.changing() }, Ended: c.meter.count,
		Settle: func(ctx context.Context) error {
			return n.settle(ctx, c, func(ctx context.Context) error { return c.Refresh(ctx, id) })
		},
	}}
}
