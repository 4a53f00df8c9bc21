package cache

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/cause"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resultcopy"
	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A flight is one call that answers all identical reads that arrive while it is in flight. The read that makes
// the call leads; the others wait for done and get copies of the result.
//
// A read joins a flight only if the call can answer it: nothing that it is about was written to since the flight
// began, and the flight ends no earlier than the caller's deadline. Otherwise it leads a flight of its own, which
// takes the place of the earlier one for reads that follow. The earlier one still answers those that wait for it.
type flight struct {
	id       key
	names    []EntityKey        // what it is about; none for a list
	since    versions.Version   // when it began
	deadline time.Time          // the leader's; zero for none
	waiting  int                // callers; guarded by its shard's mutex
	done     chan struct{}      // likewise; nil without waiters
	cancel   context.CancelFunc // nil if the leader cannot be cancelled

	// Written before done is closed, and only read afterwards.
	res  *mcp.CallToolResult // the leader's
	kept *mcp.CallToolResult // the others copy from it
	size int64               // of kept
	err  error
}

// join returns a cached result, or a call in flight that the caller now waits for, or a new flight that the
// caller leads. A caller with more time than the flight makes its own call, which later callers join.
func (s *shard) join(ctx context.Context, id key, server string, names []EntityKey, now time.Duration) (e entry, f *flight, leads bool) {
	deadline, _ := ctx.Deadline()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.find(id, now); ok {
		return e, nil, false
	}
	if f := s.inFlight[id]; f != nil && s.fresh(server, names, f.since) && covers(f.deadline, deadline) {
		f.waiting++
		if f.done == nil {
			f.done = make(chan struct{})
		}
		s.stats.Joined++
		return entry{}, f, false
	}
	s.stats.Misses++
	f = &flight{id: id, names: names, since: s.servers.Request(server, names), deadline: deadline, waiting: 1}
	if ctx.Done() != nil { // the leader will wait, too
		f.done = make(chan struct{})
	}
	s.inFlight[id] = f
	return entry{}, f, true
}

// fresh reports whether what was requested at a version still holds: nothing that
// it is about was written to or forgotten since.
func (s *Store) fresh(server string, names []EntityKey, since versions.Version) bool {
	return uint64(since) >= s.forgotten.Load() && !s.servers.Changed(server, names, since)
}

// covers reports whether a flight that ends at have serves a caller that has until want; zero means no end.
func covers(have, want time.Time) bool {
	return have.IsZero() || !want.IsZero() && !have.Before(want)
}

// lead makes the call for all callers that join meanwhile. A leader that can be
// cancelled must not cancel the others, so the call then runs on its own goroutine
// with the leader's deadline and values but not its cancellation.
func (c *cacher) lead(ctx context.Context, call middleware.Call, f *flight, ttl time.Duration) (*mcp.CallToolResult, error) {
	if ctx.Done() == nil {
		c.fly(ctx, call, f, ttl)
		return f.res, f.err
	}
	own, cancel := callstate.Detach(ctx, f.deadline)
	f.cancel = cancel // read only after the last caller has left, the leader included
	// A leader that has left may use its buffers for something else.
	call.Arguments, call.Meta = bytes.Clone(call.Arguments), maps.Clone(call.Meta)
	go func() {
		defer cancel()
		reserve(false)
		c.fly(own, call, f, ttl)
	}()
	if err := c.await(ctx, f); err != nil {
		return nil, err
	}
	return f.res, nil
}

// fly makes the call and wakes its callers. The flight ends in any case, even if next panics
// or ends the goroutine.
func (c *cacher) fly(ctx context.Context, call middleware.Call, f *flight, ttl time.Duration) {
	returned := false
	defer func() {
		if !returned {
			f.err = fmt.Errorf("cache: the call of %s ended its goroutine without an answer", call.Tool)
		}
		c.Store.of(f.id).land(f)
	}()
	f.res, f.err = fault.Call(ctx, c.next, call) // a panic must not reach other callers
	returned = true
	if f.err == nil {
		f.keep(call.Tool)
	}
	if resultcopy.Storable(f.kept) {
		c.keep(f.id, &call, entry{res: f.kept, size: f.size, names: f.names, since: f.since}, 0, ttl)
	}
}

// keep makes the copy that the others share. A result that cannot be copied is an
// error: a type of the host's own may panic.
func (f *flight) keep(tool *middleware.Tool) {
	defer func() {
		if v := recover(); v != nil {
			f.res, f.err = nil, &middleware.PanicError{Tool: tool, Value: v, Stack: debug.Stack()}
		}
	}()
	f.kept, f.size = resultcopy.Copy(f.res)
}

// reserve makes the stack of a new goroutine as large as the rest of a chain needs, while there is nothing on it that has
// to be moved. Otherwise it grows deep in the chain, once or twice, and each frame is moved with all pointers into it.
// The stack grows because the frame of this function is large; nothing is written to it.
//
//go:noinline
func reserve(never bool) {
	if never {
		var room [6 << 10]byte
		fill(&room)
	}
}

//go:noinline
func fill(room *[6 << 10]byte) { room[0]++ }

func (c *cacher) await(ctx context.Context, f *flight) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		c.Store.of(f.id).leave(f)
		return cause.End(ctx)
	}
}

// leave records that one caller no longer waits. When the last one leaves, the
// flight is cancelled, and no later read joins it.
func (s *shard) leave(f *flight) {
	s.mu.Lock()
	f.waiting--
	abandoned := f.waiting == 0
	if abandoned && s.inFlight[f.id] == f {
		delete(s.inFlight, f.id)
	}
	s.mu.Unlock()
	if abandoned {
		f.cancel()
	}
}

func (s *shard) land(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[f.id] == f {
		delete(s.inFlight, f.id)
	}
	if f.done != nil { // no later read joins
		close(f.done)
	}
}
