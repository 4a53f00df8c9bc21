package cache

import (
	"context"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resultcopy"
	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remoteLimit is how long an operation of [Options.Remote] may take, even if it ignores its context.
const remoteLimit = 2 * time.Second

// How often a caller that waits for another replica looks again.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 25 * time.Millisecond
)

// A fetch is a call that this process makes for all replicas. Its other callers wait
// for it instead of looking again and again.
type fetch struct {
	done chan struct{}
	kept *mcp.CallToolResult // nil if there is nothing for others
}

// A sharedRead is one read while the host has an [Options.Remote]. It looks there first. Of the replicas that miss
// at one time the first leads: it calls the server and publishes the result. The others look again, at growing
// intervals, until the result is there or the lead is given to them; callers in the leading process wait for
// its fetch.
//
// A failure of the remote cache costs a call to the server and never fails the read. A look that is given up may
// still be given the lead later, and then it drops the lead, so that the others need not wait for its lease.
type sharedRead struct {
	*cacher

	call  middleware.Call
	q     Read
	ttl   time.Duration
	near  time.Duration    // 0 for a write, which another replica may undo
	since versions.Version // in the store of this process
	asked time.Duration    // by its clock
}

func (c *cacher) readShared(ctx context.Context, call *middleware.Call, id digest, names []EntityKey, ttl time.Duration) (*mcp.CallToolResult, error) {
	r := sharedRead{cacher: c, call: *call, ttl: ttl, near: c.LocalTTL, q: Read{Server: call.Tool.Server, ID: id, Entities: names}}
	return r.read(ctx)
}

// read answers from the remote cache, waits for the caller that asks the server already, or asks it.
func (r *sharedRead) read(ctx context.Context) (*mcp.CallToolResult, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		res, found, why, err := r.look(ctx)
		switch {
		case res != nil || err != nil:
			return res, err
		case why != "":
			record(ctx, "passed", why)
			return r.next.CallTool(ctx, r.call)
		case found.Value != nil || !found.Busy:
			return r.fetch(ctx, found.Ticket)
		}
		res, err = r.wait(ctx, found.Ticket, pause)
		if res != nil || err != nil {
			return res, err
		}
	}
}

// look returns the result of the remote cache. Without one it returns what was found
// instead, or why nothing could be.
func (r *sharedRead) look(ctx context.Context) (res *mcp.CallToolResult, found Lookup, why string, err error) {
	if r.since, r.asked = r.Store.servers.Request(r.q.Server, r.q.Entities), r.Store.clock(); r.since == 0 { // Remote may not have the writes in flight here
		return nil, Lookup{}, "a write is in flight", nil
	}
	found, err = bounded.Do(ctx, r.bound, func(ctx context.Context) (Lookup, error) { return r.Remote.Look(ctx, r.q) },
		func(late Lookup) { r.release(ctx, late) })
	switch {
	case ctx.Err() != nil:
		if err == nil {
			r.release(ctx, found)
		}
		return nil, Lookup{}, "", fault.GivenUp(ctx)
	case err != nil:
		return nil, Lookup{}, "the shared cache does not answer", nil
	}
	res, at, ok := resultcopy.Decode(found.Value)
	if age := max(time.Since(at), 0); ok && age < r.ttl && resultcopy.Storable(res) { // the clocks of replicas differ
		r.keepNear(res, age)
		r.answered(ctx, &r.call, "hit", age)
		return res, found, "", nil
	}
	return nil, found, "", nil
}

// wait waits for the result that another caller has requested: until it is there, if that is one of this
// process, else for a while. It returns neither result nor error if the caller has to look again.
func (r *sharedRead) wait(ctx context.Context, ticket string, pause time.Duration) (*mcp.CallToolResult, error) {
	var done chan struct{}
	var again <-chan time.Time
	f, own := r.joinable.Load(r.joinKey(ticket))
	if own {
		done = f.(*fetch).done
	} else {
		again = time.After(pause)
	}
	select {
	case <-done:
		if kept := f.(*fetch).kept; kept != nil {
			r.answered(ctx, &r.call, "joined", 0)
			return r.clone(kept), nil
		}
	case <-again:
	case <-ctx.Done():
		return nil, fault.GivenUp(ctx)
	}
	return nil, nil //nolint:nilnil // look again
}

func (r *sharedRead) joinKey(ticket string) string { return string(r.q.ID[:]) + ticket }

func (r *sharedRead) fetch(ctx context.Context, ticket string) (*mcp.CallToolResult, error) {
	record(ctx, "miss", "")
	at, f, kept := r.joinKey(ticket), &fetch{done: make(chan struct{})}, false
	r.joinable.Store(at, f)
	defer func() { // also after a panic
		if !kept {
			r.release(ctx, Lookup{Ticket: ticket})
		}
		r.joinable.Delete(at)
		close(f.done)
	}()
	asked := time.Now()
	res, err := r.next.CallTool(ctx, r.call)
	if err != nil || !resultcopy.Storable(res) {
		return res, err
	}
	f.kept, _ = resultcopy.Copy(res)
	r.keepNear(f.kept, 0)
	kept = r.publish(ctx, f.kept, asked, ticket)
	return res, nil
}

// publish keeps a result for all, which was requested at a time, and reports whether that was
// tried. A result that is not kept is fetched again.
func (r *sharedRead) publish(ctx context.Context, res *mcp.CallToolResult, asked time.Time, ticket string) bool {
	ttl := resultcopy.Shortened(res, r.ttl)
	value, ok := resultcopy.Encode(res, asked)
	if !ok || ticket == "" || ttl <= 0 {
		return false
	}
	_ = r.tell(ctx, func(ctx context.Context) error { return r.Remote.Keep(ctx, r.q, ticket, value, ttl) }, nil)
	return true
}

// keepNear caches a result of that age in this process, for a while from when it was
// requested here: another replica may have written since.
func (r *sharedRead) keepNear(res *mcp.CallToolResult, age time.Duration) {
	if left := min(r.near, r.ttl) - (r.Store.clock() - r.asked); left > 0 {
		kept, size := resultcopy.Copy(res)
		r.keep(digest(r.q.ID).key(), &r.call, entry{res: kept, size: size, names: r.q.Entities, since: r.since}, age, left)
	}
}

func (r *sharedRead) release(ctx context.Context, found Lookup) {
	if found.Value == nil && !found.Busy && found.Ticket != "" {
		_ = r.tell(ctx, func(ctx context.Context) error {
			r.Remote.Drop(ctx, r.q, found.Ticket)
			return nil
		}, nil)
	}
}

// tell runs an operation of the remote cache that has no value. If it succeeds after it was
// given up, undo is called.
func (c *cacher) tell(ctx context.Context, operation func(context.Context) error, undo func(struct{})) error {
	_, err := bounded.Do(ctx, c.bound, func(ctx context.Context) (struct{}, error) { return struct{}{}, operation(ctx) }, undo)
	return err
}
