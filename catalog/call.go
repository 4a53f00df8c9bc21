package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"weak"

	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A caller is the catalogue as one caller sees it. A tool that it does not see is an unknown tool in every way.
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
	return guard.Call(ctx, call, v.lookup)
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
		if was, ok := callstate.Own[admitted](ctx); ok && was.server == tool.Server && was.by != from.lister {
			return guard.Target{}, &ChangedError{Tool: tool}
		}
		target := from.target
		if target.Tool = tool; executor != nil {
			target.Next = executor
		}
		return target, nil
	}
}

// source returns what the guard of a call needs of its server: for an approved one it checks the snapshot, and
// reads a list that was announced.
func (c *Catalog) source(s *snapshot, id string, known *server) source {
	n := known.lister
	return source{n, guard.Target{
		Next: known.executor, Current: func() bool { return c.current.Load() == s && !n.changing() }, Ended: c.meter.count,
		Settle: func(ctx context.Context) error {
			if !n.changing() {
				return nil
			}
			if err := c.Refresh(ctx, id); err != nil {
				return &middleware.NotSentError{Err: err}
			}
			return nil
		},
	}}
}

// admitted is the session for which a call was admitted; another that takes its id does not get the call.
type admitted struct {
	server string
	by     *lister
}

// Admit is a middleware that refuses early what the catalog or the view would refuse, and replaces a copy of a tool
// that is less strict than the accepted one. chain.Standard has it; in a chain of another order, add it by hand.
func (v *caller) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	return &admitter{next: next, caller: v}
}

type admitter struct {
	next   middleware.ToolCaller
	caller *caller
}

func (a *admitter) Describe() middleware.Description {
	return middleware.Description{Kind: "admit", Next: a.next}
}

func (a *admitter) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool != nil && call.Tool.Definition != nil { // the guard refuses other calls
		tool, now, err := a.caller.accepted(ctx, call)
		if err != nil {
			return nil, err
		}
		if tool = callstate.Judged(ctx, &call, tool); tool.Safety() < call.Tool.Safety() { // a copy that is less strict
			call.Tool = tool
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

// A Replica is another server for a server of the catalogue, for package route to choose from. It calls a tool
// only if it lists exactly the definition that the catalogue accepted. It is guarded, and safe for concurrent use.
type Replica struct {
	catalog    *Catalog
	server, id string
	lister     *lister
	guarded    middleware.ToolCaller
	offered    atomic.Pointer[map[string]middleware.Digest]
}

// Replica lists the tools of a replica of a server that was added before. The replica's own id names it in
// errors and logs. An error means that it could not list its tools.
func (c *Catalog) Replica(ctx context.Context, server, id string, s Session) (*Replica, error) {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		return nil, fmt.Errorf("catalog: replica %q of server %q: the session is nil; connect first", id, server)
	}
	if !c.isAdded(server) {
		return nil, fmt.Errorf("catalog: there is no server %q for %q to be a replica of; add it first", server, id)
	}
	r := &Replica{catalog: c, server: server, id: id}
	direct := session.Executor(s)
	r.guarded = c.Guard(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if r.lister.changing() && call.Tool.Safety().MustConfirm() {
			if err := r.Refresh(ctx); err != nil {
				return nil, &middleware.NotSentError{Err: err}
			}
		}
		if !r.Offers(call.Tool) {
			return nil, &ReplicaError{Tool: call.Tool, Replica: id}
		}
		return direct.CallTool(ctx, call)
	}))
	held := weak.Make(r) // it may be gone by then
	r.lister = c.newLister(server, s, func(ctx context.Context) error {
		r := held.Value()
		if r == nil {
			return nil
		}
		err := r.Refresh(ctx)
		if err != nil {
			c.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a replica could not list its tools", slog.String("replica", id), slog.String("error", listing.Line(err)))
		}
		return err
	})
	err := r.Refresh(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.lister.busy = false; r.lister.changed {
		c.wake(r.lister, settle)
	}
	return r, err
}

// Refresh lists the replica's tools again, which the catalogue also does when it receives notice of a change.
// After an error it offers the same as before; of several calls the list that was requested last counts.
func (r *Replica) Refresh(ctx context.Context) error {
	l, its, err := r.catalog.list(ctx, r.lister)
	if err != nil {
		return fmt.Errorf("catalog: replica %q: %w", r.id, err)
	}
	offered := make(map[string]middleware.Digest, len(l.Tools))
	for _, d := range l.Tools {
		offered[d.Tool.Name()] = d.Tool.Digest
	}
	r.catalog.mu.Lock()
	if its.number > r.lister.taken {
		r.offered.Store(&offered)
		r.lister.take(its)
	}
	r.catalog.mu.Unlock()
	for _, tool := range r.catalog.List() {
		if tool.Server == r.server && !r.Offers(tool) {
			r.catalog.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a replica does not have a tool in the accepted definition",
				slog.String("replica", r.id), slog.String("tool", tool.String()))
		}
	}
	return nil
}

// Offers reports whether the replica lists the tool in exactly this definition.
func (r *Replica) Offers(tool *middleware.Tool) bool {
	offered := r.offered.Load()
	if offered == nil || tool == nil || tool.Server != r.server {
		return false
	}
	digest, ok := (*offered)[tool.Name()]
	return ok && digest == tool.Digest
}

// CallTool calls the tool on this replica, behind the guard of the catalogue.
func (r *Replica) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return r.guarded.CallTool(ctx, call)
}

func (*Replica) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

// refused is in each error about a call that did not leave and that would only fail again.
type refused = fault.Final

// ErrUnknownTool is in the tree of every error about a tool that is not there.
var ErrUnknownTool = errors.New("catalog: unknown tool")

// An UnknownToolError reports that the catalogue has no such tool. Server is "" if the name was given without one.
type UnknownToolError struct {
	refused

	Server, Tool string
}

func (e *UnknownToolError) Error() string {
	if e.Server == "" {
		return fmt.Sprintf("catalog: there is no tool %q of any server; list the tools again", e.Tool)
	}
	return fmt.Sprintf("catalog: there is no tool %q of server %q; list the tools again", e.Tool, e.Server)
}

func (e *UnknownToolError) ForModel() string {
	return "There is no such tool any more. Choose one from the list of tools."
}

func (e *UnknownToolError) Is(target error) bool { return target == ErrUnknownTool }

// An AmbiguousError reports that several servers have a tool of this name.
type AmbiguousError struct {
	refused

	Name  string
	Tools []*middleware.Tool
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("catalog: %q is a tool of several servers: write %s", e.Name, e.join((*middleware.Tool).String, " or "))
}

func (e *AmbiguousError) ForModel() string {
	return "Several tools have that name. Nothing was called. Call one of them by its full name: " + e.join((*middleware.Tool).ModelName, ", ") + "."
}

func (e *AmbiguousError) join(name func(*middleware.Tool) string, separator string) string {
	names := make([]string, len(e.Tools))
	for i, tool := range e.Tools {
		names[i] = name(tool)
	}
	return strings.Join(names, separator)
}

// A ChangedError reports that the accepted definition is not the one of the call.
type ChangedError struct {
	refused

	Tool *middleware.Tool
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("catalog: the definition of %s is not the one that this call was made for; look the tool up again", e.Tool)
}

func (e *ChangedError) ForModel() string {
	return e.Tool.ModelName() + " was not called: what it does or takes has changed since it was listed. Look it up again before you use it."
}

// A NotCoveredError refuses a call whose arguments make it more than the scopes of its caller cover.
type NotCoveredError = scope.NotCoveredError

// A ReplicaError reports that a replica does not have the tool in the accepted definition. Nothing was sent.
type ReplicaError struct {
	refused

	Tool    *middleware.Tool
	Replica string
}

func (e *ReplicaError) Error() string {
	return fmt.Sprintf("catalog: the replica %s does not have %s in the accepted definition; bring it up to date, or call another", e.Replica, e.Tool)
}

// NotOffered reports to package route that another replica may have the tool.
func (e *ReplicaError) NotOffered() bool { return true }

func (e *ReplicaError) ForModel() string {
	return fmt.Sprintf("%s was not called: the server that was asked has another version of it. Try again later.", e.Tool.ModelName())
}
