package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Remote is a memory that several replicas of a host share. [NewMemory] has one
// in this process; storetest says whether another keeps these promises:
//
//   - A value is found only while nothing that it is about has been written to
//     since the look whose ticket it was kept with: not when the write began, not
//     when it ended, whichever replica made it, and in whatever order they come.
//   - While a write is under way, what it may change is neither found nor kept.
//     One whose replica has died is over after a while, as if it had ended then.
//   - Of those who look for the same thing at one time one leads; the others are
//     told that somebody does. A leader that has died has its place taken.
//   - What cannot be read, comes from elsewhere or has another version is not there.
//
// It is safe for concurrent use. Each method returns soon after its context is
// done, and by itself where nobody answers: an error costs a call to the server,
// and keeps nothing from being made.
type Remote interface {
	// Look returns what is known. Who is told to lead calls Keep or Drop once.
	Look(ctx context.Context, q Question) (Found, error)
	// Keep keeps a value that was asked for after the look that gave the ticket, and
	// ends the flight.
	Keep(ctx context.Context, q Question, ticket string, value []byte, ttl time.Duration) error
	// Drop ends the flight without a value.
	Drop(ctx context.Context, q Question, ticket string)
	// Begin says that a write is about to be sent.
	Begin(ctx context.Context, w Write) error
	// End says that it has returned. Where it fails, nobody believes what the write
	// may have changed for longer than the implementation says.
	End(ctx context.Context, w Write) error
}

// A Name is the hash of what names one entity, the same in every process.
type Name [16]byte

// A Question is what is looked for.
type Question struct {
	Server string
	ID     [sha256.Size]byte // of scope, server, tool, definition and arguments
	Names  []Name            // what it is about; none for a list, which any write ends
}

// A Write is a call that may change what its names stand for, or with none all
// that the server holds.
type Write struct {
	ID     string // of this write alone
	Server string
	Names  []Name
	Until  time.Time // when it is over in any case; zero where nobody knows
}

// Found is what a look has found.
type Found struct {
	// Value is what was kept; nil where nothing is known.
	Value []byte
	// Ticket stands for the moment of the look; "" where nothing may be kept.
	Ticket string
	// Busy says that somebody else has asked the server: look again soon.
	Busy bool
}

// How often one who waits for another replica's answer looks for it.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 25 * time.Millisecond
)

// landings brings those of one process together that wait for a call which this
// process makes.
type landings struct {
	mu   sync.Mutex
	open map[landingKey]*landing
}

type landingKey struct {
	id     key
	ticket string
}

type landing struct {
	done chan struct{}
	kept *mcp.CallToolResult // nil where there is nothing for others
}

func (l *landings) begin(k landingKey) *landing {
	l.mu.Lock()
	defer l.mu.Unlock()
	landing := &landing{done: make(chan struct{})}
	l.open[k] = landing
	return landing
}

func (l *landings) find(k landingKey) *landing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[k]
}

func (l *landings) end(k landingKey, landing *landing) {
	l.mu.Lock()
	delete(l.open, k)
	l.mu.Unlock()
	close(landing.done)
}

// A sharedRead is one read through the remote memory.
type sharedRead struct {
	*cacher

	call  middleware.Call
	id    key
	q     Question
	ttl   time.Duration
	names []entity // and what follows, for the memory near by
	since moment
	asked time.Duration // by the store's clock
}

// readShared answers from the remote memory, waits for the replica that asks
// already, or asks.
func (c *cacher) readShared(ctx context.Context, call *middleware.Call, ttl time.Duration) (*mcp.CallToolResult, error) {
	id, err := keyOf(call)
	if err != nil {
		return nil, err
	}
	if c.near > 0 {
		if res, ok := c.store.lookup(c.store.hot.of(c.store.seed, call), call, id, c.store.clock()); ok {
			c.answered(ctx, call, "hit")
			return c.clone(res), nil
		}
	}
	r := sharedRead{
		cacher: c, call: *call, id: id, ttl: ttl, names: c.naming.of(c.store.seed, call),
		q: Question{Server: call.Tool.Server, ID: id, Names: c.naming.shared(call)},
	}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		r.since, r.asked = c.store.moment(call.Tool.Server, r.names), c.store.clock()
		found, err := c.remote.Look(ctx, r.q)
		switch {
		case ctx.Err() != nil:
			if err == nil && found.Value == nil && !found.Busy {
				c.remote.Drop(ctx, r.q, found.Ticket)
			}
			return nil, fault.GivenUp(ctx)
		case err != nil:
			callstate.Of(ctx).Decide("cache", "passed", "the shared memory does not answer")
			return c.next.CallTool(ctx, *call)
		case found.Value != nil:
			if res, ok := decode(found.Value); ok {
				r.keepNear(res)
				c.answered(ctx, call, "hit")
				return res, nil
			}
			return r.fetch(ctx, found.Ticket)
		case !found.Busy:
			return r.fetch(ctx, found.Ticket)
		}
		res, err := r.wait(ctx, found.Ticket, pause)
		if res != nil || err != nil {
			return res, err
		}
	}
}

// wait waits for the answer that somebody has asked for: until it is there, where
// that is this process, else for a while.
func (r *sharedRead) wait(ctx context.Context, ticket string, pause time.Duration) (*mcp.CallToolResult, error) {
	landing := r.landings.find(landingKey{r.id, ticket})
	if landing == nil {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil, nil //nolint:nilnil // look again
		case <-ctx.Done():
			return nil, fault.GivenUp(ctx)
		}
	}
	select {
	case <-landing.done:
		if landing.kept == nil {
			return nil, nil //nolint:nilnil // look again, and lead maybe
		}
		r.answered(ctx, &r.call, "joined")
		return r.clone(landing.kept), nil
	case <-ctx.Done():
		return nil, fault.GivenUp(ctx)
	}
}

// fetch makes the call, and keeps what comes of it for all.
func (r *sharedRead) fetch(ctx context.Context, ticket string) (*mcp.CallToolResult, error) {
	callstate.Of(ctx).Decide("cache", "miss", "")
	at := landingKey{r.id, ticket}
	landing := r.landings.begin(at)
	kept := false
	defer func() { // a panic on its way out included
		if !kept {
			r.remote.Drop(ctx, r.q, ticket)
		}
		r.landings.end(at, landing)
	}()
	res, err := r.next.CallTool(ctx, r.call)
	if err != nil || !storable(res) {
		return res, err
	}
	landing.kept = deepCopy(res)
	r.keepNear(landing.kept)
	value, ok := encode(landing.kept)
	if !ok || ticket == "" {
		return res, nil
	}
	kept = true
	_ = r.remote.Keep(ctx, r.q, ticket, value, r.ttl) // what is not kept is asked for again
	return res, nil
}

// keepNear keeps a result in this process, for a moment from when it was asked for:
// another replica may have written since.
func (r *sharedRead) keepNear(res *mcp.CallToolResult) {
	if left := min(r.near, r.ttl) - (r.store.clock() - r.asked); left > 0 {
		r.store.store(r.id, r.call.Tool, r.names, r.entry(r.call.Tool, r.since, deepCopy(res), left))
	}
}

// writeShared is write where others share the memory: nothing of a write is kept.
func (c *cacher) writeShared(ctx context.Context, call *middleware.Call) (*mcp.CallToolResult, error) {
	callstate.Of(ctx).Decide("cache", "passed", "it may change the server")
	w := Write{ID: rand.Text(), Server: call.Tool.Server, Names: c.naming.shared(call)}
	w.Until, _ = ctx.Deadline()
	names := c.naming.of(c.store.seed, call)
	on, _ := c.store.beginWrite(call.Tool.Server, names)
	defer func() { // a panic on its way out included
		c.store.endWrite(on, names)
		if err := c.remote.End(ctx, w); err != nil && c.log.Enabled(ctx, slog.LevelDebug) {
			c.log.LogAttrs(ctx, slog.LevelDebug, "cache: the shared memory was not told that a write has ended", slog.Any("err", err))
		}
	}()
	_ = c.remote.Begin(ctx, w) // what it is told at the end counts
	if ctx.Err() != nil {
		return nil, fault.GivenUp(ctx)
	}
	return c.next.CallTool(ctx, *call)
}

// moment is asked for who does not hold the mutex.
func (s *Store) moment(server string, names []entity) moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked(server, names)
}
