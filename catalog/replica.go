package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Replica is one more server that stands for a server of the catalogue, for
// package route to choose from. It calls a tool only where it lists it in exactly
// the definition that the catalogue accepted: a replica whose definition differs
// does not have the same tool. It is guarded, and safe for concurrent use.
type Replica struct {
	catalog    *Catalog
	server, id string
	session    Session
	asking     asking
	guarded    middleware.ToolCaller
	offered    atomic.Pointer[map[string]middleware.Digest]
	waking     [2]atomic.Bool            // a list is planned, by why
	began      atomic.Pointer[time.Time] // the last list that the catalogue asked for by itself

	mu       sync.Mutex // guards the writing of offered, and
	asked    int        // how many lists were asked for
	answered int        // which of them is offered
}

// Replica lists the tools of a server that stands for the one with the id given,
// which has been added before. The replica's own id names it in errors and logs. An
// error means that it could not list its tools.
func (c *Catalog) Replica(ctx context.Context, server, id string, s Session) (*Replica, error) {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		return nil, fmt.Errorf("catalog: replica %q of server %q: the session is nil; connect first", id, server)
	}
	if !c.isAdded(server) {
		return nil, fmt.Errorf("catalog: there is no server %q for %q to be a replica of; add it first", server, id)
	}
	r := &Replica{catalog: c, server: server, id: id, session: s, asking: newAsking()}
	direct := session.Executor(s)
	r.guarded = c.Guard(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if !r.Offers(call.Tool) {
			return nil, &ReplicaError{Tool: call.Tool, Replica: id}
		}
		return direct.CallTool(ctx, call)
	}))
	c.mu.Lock()
	// First, so that no change is missed while it lists.
	c.replicas = append(slices.DeleteFunc(c.replicas, gone), weak.Make(r))
	c.mu.Unlock()
	return r, r.Refresh(ctx)
}

// gone reports whether nobody has a replica any more, and so nobody calls it.
func gone(r weak.Pointer[Replica]) bool { return r.Value() == nil }

// Refresh lists the replica's tools again. After an error it offers what it offered
// before; of several at once, the list that was asked for last counts. The catalogue
// does so by itself when it hears that the list has changed.
func (r *Replica) Refresh(ctx context.Context) error {
	turn := r.turn()
	l, err := r.catalog.list(ctx, r.server, r.session, r.asking)
	if err != nil {
		return fmt.Errorf("catalog: replica %q: %w", r.id, err)
	}
	offered := make(map[string]middleware.Digest, len(l.accepted))
	for _, d := range l.accepted {
		offered[d.tool.Name()] = d.tool.Digest
	}
	if !r.offer(turn, offered) {
		return nil
	}
	for _, tool := range r.catalog.List() {
		if tool.Server == r.server && !r.Offers(tool) {
			r.catalog.log.LogAttrs(ctx, slog.LevelWarn, "catalog: a replica does not have a tool in the accepted definition",
				slog.String("replica", r.id), slog.String("tool", tool.String()))
		}
	}
	return nil
}

// turn returns the number of a new list.
func (r *Replica) turn() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.asked
}

// offer takes in a list, unless a later one has come already.
func (r *Replica) offer(turn int, offered map[string]middleware.Digest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if turn < r.answered {
		return false
	}
	r.answered = turn
	r.offered.Store(&offered)
	return true
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

// CallTool calls the tool on this replica. The guard stands here as it stands at the
// catalogue.
func (r *Replica) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return r.guarded.CallTool(ctx, call)
}

// Describe implements [middleware.Describer].
func (*Replica) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

// Why the catalogue lists a replica by itself, and after which time.
const (
	listChanged = iota
	listFailed
)

var waits = [...]time.Duration{listChanged: settle, listFailed: tryAgain}

// wake has the replica listed soon, and a storm of changes only now and then; the
// caller holds the catalogue's mutex.
func (r *Replica) wake(why int) {
	c := r.catalog
	if c.watcher.closed || r.waking[why].Swap(true) {
		return
	}
	after := waits[why]
	if began := r.began.Load(); began != nil {
		after = max(after, time.Until(began.Add(pace)))
	}
	held := weak.Make(r) // nobody may have it by then
	c.watcher.work.Go(func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.watcher.life.Done():
			return
		}
		if r := held.Value(); r != nil {
			r.waking[why].Store(false) // a change from now on is another list's
			r.listAgain()
		}
	})
}

// listAgain is a list that nobody waits for.
func (r *Replica) listAgain() {
	c := r.catalog
	r.began.Store(new(time.Now()))
	if err := r.Refresh(c.watcher.life); err != nil {
		c.log.LogAttrs(c.watcher.life, slog.LevelWarn, "catalog: a replica could not list its tools", slog.String("replica", r.id), slog.String("error", line(err)))
		if closed(err) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		r.wake(listFailed)
	}
}

// A ReplicaError says that a replica does not have the tool in the accepted
// definition. Nothing was sent; another replica may have it.
type ReplicaError struct {
	Tool    *middleware.Tool
	Replica string
}

func (e *ReplicaError) Error() string {
	return fmt.Sprintf("catalog: the replica %s does not have %s in the accepted definition; bring it up to date, or call another", e.Replica, e.Tool)
}

// NotSent reports that the call did not leave.
func (e *ReplicaError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again here.
func (e *ReplicaError) Permanent() bool { return true }

// NotOffered tells package route that another replica may have the tool.
func (e *ReplicaError) NotOffered() bool { return true }

// ForModel returns what a model may read of it.
func (e *ReplicaError) ForModel() string {
	return fmt.Sprintf("%s was not called: the server that was asked has another version of it. Try again later.", e.Tool.ModelName())
}
