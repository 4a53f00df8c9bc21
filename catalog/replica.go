package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"weak"

	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Replica is another server for a server of the catalog, for package route to choose from. It calls a tool
// only if it lists exactly the definition that the catalog accepted. It is guarded, and safe for concurrent use.
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
		if err := r.lister.settle(ctx, c, r.Refresh); err != nil {
			return nil, &middleware.NotSentError{Err: err}
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

// Refresh lists the replica's tools again, which the catalog also does when it receives notice of a change.
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

// CallTool calls the tool on this replica, behind the guard of the catalog.
func (r *Replica) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return r.guarded.CallTool(ctx, call)
}

func (*Replica) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}
