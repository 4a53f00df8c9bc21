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

// A caller is the catalogue as one caller sees it: all of it, or a [View]. What the caller does not
// see is neither listed nor found nor called, and a call of it ends as that of a tool that is not
// there.
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

// CallTool calls the tool on its server, behind a guard: a Dangerous or Unknown call that
// nobody has approved is refused, by the class of the accepted definition.
func (v *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return guard.Call(ctx, call, v.lookup)
}

// Describe implements [middleware.Describer].
func (*caller) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

// Guard stands before an executor other than the catalog's own sessions that calls the same
// tools: it takes their class from the catalog, and refuses what the catalog does not know.
func (v *caller) Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		panic("catalog: a guard needs an executor; got nil")
	}
	return guard.For(v.lookupFor(executor))
}

// lookupFor finds the targets of calls, which the executor executes, or that of each server if it
// is nil.
func (v *caller) lookupFor(executor middleware.ToolCaller) guard.Lookup {
	ended := v.c.meter.Count
	return func(ctx context.Context, call middleware.Call) (guard.Target, error) {
		tool, now, err := v.accepted(ctx, call)
		if err != nil {
			return guard.Target{}, err
		}
		from := now.sources[tool.Server]
		if was, ok := callstate.Own[admitted](ctx); ok && was.server == tool.Server && was.by != from.lister {
			return guard.Target{}, &ChangedError{Tool: tool}
		}
		next := executor
		if next == nil {
			next = from.executor
		}
		return guard.Target{Tool: tool, Next: next, Current: from.current, Settle: from.settle, Ended: ended}, nil
	}
}

// watch has the guard of an approved call ask whether the snapshot still holds for a server, and
// list its tools if a change of them is announced that no list has.
func (c *Catalog) watch(s *snapshot, id string) {
	its := s.sources[id]
	its.current = func() bool { return c.current.Load() == s && !its.lister.changing() }
	its.settle = func(ctx context.Context) error {
		if !its.lister.changing() {
			return nil
		}
		if err := c.Refresh(ctx, id); err != nil {
			return &middleware.NotSentError{Err: err}
		}
		return nil
	}
	s.sources[id] = its
}

// admitted is the session of a server that a call was admitted for, before a person was asked:
// another that takes its id meanwhile does not get the call.
type admitted struct {
	server string
	by     *lister
}

// Admit is a middleware that refuses what a view does not show, and what its catalog
// would refuse, before a person is asked or a cache that others share is looked up.
// chain.Standard has it; in a chain of another order, put it in by hand.
func (v *caller) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	return &admitter{next: next, caller: v}
}

type admitter struct {
	next   middleware.ToolCaller
	caller *caller
}

// Describe implements [middleware.Describer].
func (a *admitter) Describe() middleware.Description {
	return middleware.Description{Kind: "admit", Next: a.next}
}

func (a *admitter) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool != nil && call.Tool.Definition != nil { // the guard has words for that
		tool, now, err := a.caller.accepted(ctx, call)
		if err != nil {
			return nil, err
		}
		if call.Tool.Safety().MustConfirm() || tool.Safety().MustConfirm() {
			ctx = callstate.Keep(ctx, admitted{tool.Server, now.sources[tool.Server].lister})
		}
	}
	if a.caller.view { // also where a route leads past the view
		ctx = callstate.WithLimit(ctx, a.caller.sees)
	}
	return a.next.CallTool(ctx, call)
}

// accepted returns the tool that a call names as it is accepted now, or why the call is
// refused. For a caller that does not see a tool it does not exist.
func (v *caller) accepted(ctx context.Context, call middleware.Call) (*middleware.Tool, *snapshot, error) {
	callstate.Observe("lookup")
	now, id := v.c.current.Load(), name{call.Tool.Server, call.Tool.Name()}
	tool, held := now.tools[id].tool, now.held[id]
	switch {
	case tool != nil && !(v.sees(tool) && callstate.Sees(ctx, tool)), held.tool != nil && !v.sees(held.tool):
		v.c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a call was refused, since no scope of its caller covers the tool",
			slog.String("server", id.server), slog.String("tool", id.tool))
	case held.tool != nil:
		return nil, nil, held.err
	case tool != nil && tool.Digest != call.Tool.Digest:
		return nil, nil, &ChangedError{Tool: tool}
	case tool != nil:
		call.Tool = tool
		return tool, now, scope.CheckArguments(ctx, call, v.sees)
	}
	return nil, nil, &UnknownToolError{Server: id.server, Tool: id.tool}
}
