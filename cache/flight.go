package cache

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A flight is one call on its way whose answer several callers wait for.
type flight struct {
	id       key
	names    []entity  // what is asked about, none for a list
	since    moment    // when it began
	deadline time.Time // the leader's; zero for none
	done     chan struct{}
	waiting  int                // guarded by the store's mutex
	cancel   context.CancelFunc // nil where the leader cannot be cancelled

	// Written before done is closed, and only read afterwards.
	res  *mcp.CallToolResult // the leader's
	kept *mcp.CallToolResult // everybody else's, to copy from
	err  error
}

// lead makes the call for everybody who asks meanwhile. A leader that can be
// cancelled must not take the others down, so the call then runs on its own
// goroutine with the leader's deadline and values but not its cancellation.
func (c *cacher) lead(ctx context.Context, call middleware.Call, f *flight, ttl time.Duration) (*mcp.CallToolResult, error) {
	if ctx.Done() == nil {
		c.fly(ctx, call, f, ttl)
		return f.res, f.err
	}
	own, cancel := context.WithoutCancel(ctx), context.CancelFunc(nil)
	if f.deadline.IsZero() {
		own, cancel = context.WithCancel(own)
	} else {
		own, cancel = context.WithDeadline(own, f.deadline)
	}
	f.cancel = cancel // read only after the last caller has left, the leader included
	// A leader that has left may use its buffers for something else.
	call.Arguments, call.Meta = bytes.Clone(call.Arguments), maps.Clone(call.Meta)
	go func() {
		defer cancel()
		c.fly(own, call, f, ttl)
	}()
	if err := c.await(ctx, f); err != nil {
		return nil, err
	}
	return f.res, f.err
}

// fly makes the call and wakes everybody. Whatever next does, a panic and the end
// of the goroutine included, the flight ends.
func (c *cacher) fly(ctx context.Context, call middleware.Call, f *flight, ttl time.Duration) {
	f.err = fmt.Errorf("cache: the call of %s ended its goroutine without an answer", call.Tool)
	defer c.store.land(f)
	fetch := func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		res, err := c.next.CallTool(ctx, call)
		if err == nil && res != nil {
			f.kept = deepCopy(res)
		}
		return res, err
	}
	f.res, f.err = middleware.Recover()(middleware.ToolCallerFunc(fetch)).CallTool(ctx, call)
	if storable(f.kept) {
		c.store.store(f.id, c.entry(call.Tool, f.names, f.since, f.kept, ttl))
	}
}

// await waits for the flight to land, or for the caller's own end.
func (c *cacher) await(ctx context.Context, f *flight) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		c.store.leave(f)
		return context.Cause(ctx)
	}
}
