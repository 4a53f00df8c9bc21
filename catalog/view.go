package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Scope is one thing that a caller may do: a permission, or a pattern of them,
// up to a security level. A permission is a resource and an action, with the last
// dot between them. "customers.read" covers itself alone, "*.read" this action of
// every resource, "customers.*" and "customers.all" every action of this resource,
// and "*.all" everything. A star is never a part of a word.
type Scope = scope.Scope

// A View is the catalogue as one caller may see it. What its scopes do not cover
// is neither listed nor found nor called, and a call of it ends as that of a tool
// that is not there. It is a value without state: it shows what the catalogue
// holds now, and each call is decided by one state of it. The zero value is not ready;
// use [Catalog.View].
type View struct {
	c       *Catalog
	scopes  scope.Set
	guarded middleware.ToolCaller
}

// View returns the catalogue for a caller with these scopes; no scopes see
// nothing. A tool is covered where one scope covers the permission that
// [Options.Permission] says it needs and reaches its security level. Make a View
// for each caller and never give one caller's to another. An error names each
// scope that is none.
func (c *Catalog) View(scopes ...Scope) (*View, error) {
	set, err := scope.New(scopes...)
	if err != nil {
		return nil, fmt.Errorf("catalog: the scopes of a view: %w", err)
	}
	v := &View{c: c, scopes: set}
	v.guarded = v.Guard(middleware.ToolCallerFunc(c.execute))
	return v, nil
}

// sees reports whether the scopes cover a tool as the catalogue knows it.
func (v *View) sees(tool *middleware.Tool) bool {
	return v.scopes.Covers(v.c.needs(tool), tool.Annotations.SecurityLevel)
}

// needs returns the permission that a tool needs, "" for none.
func (c *Catalog) needs(tool *middleware.Tool) string {
	if c.permission == nil {
		return ""
	}
	return c.permission(tool)
}

// List returns the tools that the caller may use, sorted by server and name. The
// slice is the caller's.
func (v *View) List() []*middleware.Tool {
	return slices.DeleteFunc(v.c.List(), func(tool *middleware.Tool) bool { return !v.sees(tool) })
}

// Lookup returns the tool of a server as it is accepted now, if the caller may
// use it.
func (v *View) Lookup(server, tool string) (*middleware.Tool, bool) {
	return v.seen(v.c.Lookup(server, tool))
}

// LookupModelName returns the tool that a model knows by this name, if the caller
// may use it.
func (v *View) LookupModelName(model string) (*middleware.Tool, bool) {
	return v.seen(v.c.LookupModelName(model))
}

func (v *View) seen(tool *middleware.Tool, ok bool) (*middleware.Tool, bool) {
	if !ok || !v.sees(tool) {
		return nil, false
	}
	return tool, true
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
	tool, change := now.tools[id].tool, now.held[id]
	switch {
	case tool != nil && !(sees(tool) && callstate.Sees(ctx, tool)), change.tool != nil && !sees(change.tool):
		c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a call was refused, since no scope of its caller covers the tool",
			slog.String("server", id.server), slog.String("tool", id.tool))
	case change.tool != nil:
		return nil, &NotAcceptedError{Change: change}
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

// ErrNotCovered is in the tree of every error about a call that its caller may not
// make of a tool that it may use.
var ErrNotCovered = errors.New("catalog: not covered by the caller's scopes")

// A NotCoveredError refuses a call whose arguments make it more than the scopes of
// its caller cover. The tool is as preflight found it with these arguments.
type NotCoveredError struct{ Tool *middleware.Tool }

func (e *NotCoveredError) Error() string {
	return fmt.Sprintf("catalog: with these arguments %s is %s, which no scope of this caller covers; choose other arguments, or ask for the permission",
		e.Tool, strings.TrimSpace(string(e.Tool.Annotations.SecurityLevel)+" "+e.Tool.Safety().String()))
}

// ForModel tells the model that the arguments are at fault.
func (e *NotCoveredError) ForModel() string {
	return e.Tool.ModelName() + " was not called: with these arguments it is more than this user may do. Choose other arguments, or tell the user that a permission is missing."
}

// Is reports whether target is [ErrNotCovered].
func (e *NotCoveredError) Is(target error) bool { return target == ErrNotCovered }

// NotSent reports that the call did not leave.
func (e *NotCoveredError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (e *NotCoveredError) Permanent() bool { return true }

// misfits returns a finding for each tool whose permission cannot be read. It is
// asked for outside every lock, since the func is the host's.
func (c *Catalog) misfits(tools []*middleware.Tool) []Finding {
	if c.permission == nil {
		return nil
	}
	var found []Finding
	for _, tool := range tools {
		if permission := c.permission(tool); permission != "" {
			if err := scope.Check(permission); err != nil {
				found = append(found, Finding{Server: tool.Server, Tool: tool.Name(), Kind: FindingPermission,
					Text: safetext.Line("Options.Permission: " + err.Error() + `; only "*.all" covers it`)})
			}
		}
	}
	return found
}
