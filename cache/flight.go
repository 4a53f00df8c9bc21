package cache

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A flight is one call on its way whose answer several callers wait for.
type flight struct {
	id       key
	names    []entity           // what is asked about, none for a list
	since    moment             // when it began
	deadline time.Time          // the leader's; zero for none
	waiting  int                // guarded by the store's mutex
	done     chan struct{}      // likewise; nil while nobody waits for it
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
	returned := false
	defer func() {
		if !returned {
			f.err = fmt.Errorf("cache: the call of %s ended its goroutine without an answer", call.Tool)
		}
		c.store.land(f)
	}()
	f.res, f.err = c.recovering.CallTool(ctx, call)
	returned = true
	if f.err == nil {
		f.keep(call.Tool)
	}
	if storable(f.kept) {
		c.store.store(f.id, call.Tool, f.names, c.entry(call.Tool, f.since, f.kept, ttl))
	}
}

// keep makes the copy that the others get. What cannot be copied is no answer: a
// type of the host's own panics.
func (f *flight) keep(tool *middleware.Tool) {
	defer func() {
		if v := recover(); v != nil {
			f.res, f.err = nil, &fault.PanicError{Tool: tool, Value: v, Stack: debug.Stack()}
		}
	}()
	f.kept = deepCopy(f.res)
}

// await waits for the flight to land, or for the caller's own end.
func (c *cacher) await(ctx context.Context, f *flight) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		c.store.leave(f)
		return cause.End(ctx)
	}
}
