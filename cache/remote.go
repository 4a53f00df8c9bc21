package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resultcopy"
	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Remote is a cache that several replicas of a host share. [NewMemory] returns one
// in this process; storetest tests whether another keeps these promises:
//
//   - A value is found only if nothing that it is about was written to since the
//     look that returned its ticket. Both the begin and the end of a write count,
//     of any replica and in any order.
//   - While a write is in flight, values that it may change are neither found nor kept.
//     If its replica has died, it ends after a while.
//   - Of the callers that look for the same value at one time one leads; the others learn
//     that another does. A leader that has died is replaced.
//   - A value that cannot be read, is foreign or has another format is not found.
//
// It is safe for concurrent use. Each method returns soon after its context is done, which is after
// two seconds at the latest: an error costs a call to the server but does not prevent one. An operation that
// does not return is abandoned; see [Stats].
type Remote interface {
	// Look returns what is cached. A caller that is to lead calls Keep or Drop once.
	Look(ctx context.Context, q Question) (Found, error)
	// Keep caches a value that was requested after the look that returned the ticket, and ends the flight.
	Keep(ctx context.Context, q Question, ticket string, value []byte, ttl time.Duration) error
	// Drop ends the flight without a value.
	Drop(ctx context.Context, q Question, ticket string)
	// Begin records that a write is about to be sent.
	Begin(ctx context.Context, w Write) error
	// End records that it has returned. If it fails, the implementation documents how much longer a result that
	// the write may have changed is used. With the ticket the result of the write is kept, for a question with
	// its names that was looked for before it began; "" if another write of what it may change overlapped it.
	End(ctx context.Context, w Write) (ticket string, err error)
}

// A Name is the hash of what names one entity, the same in every process.
type Name [16]byte

// A Question is a read to look for.
type Question struct {
	Server string
	ID     [sha256.Size]byte // digest of scope, server, tool, definition and arguments
	Names  []Name            // what it is about; none for a list, which any write invalidates
}

// A Write is a call that may change the entities of its names, or without names the whole server.
type Write struct {
	ID     string // of this write alone
	Server string
	Names  []Name
	Until  time.Time // when it has ended in any case; zero if that is not known

	since versions.Version // of its result, in a Memory
}

// Found is what a look has found.
type Found struct {
	// Value is what was kept; nil if nothing is cached.
	Value []byte
	// Ticket identifies the time of the look; "" if nothing may be kept.
	Ticket string
	// Busy reports that another caller has asked the server: look again soon.
	Busy bool
}

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

type sharedRead struct {
	*cacher

	call  middleware.Call
	q     Question
	ttl   time.Duration
	near  time.Duration    // 0 for a write, which another replica may undo
	since versions.Version // in the store of this process
	asked time.Duration    // by its clock
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
func (r *sharedRead) look(ctx context.Context) (res *mcp.CallToolResult, found Found, why string, err error) {
	if r.since, r.asked = r.Store.servers.Request(r.q.Server, r.q.Names), r.Store.clock(); r.since == 0 { // Remote may not have the writes in flight here
		return nil, Found{}, "a write is in flight", nil
	}
	found, err = bounded.Do(ctx, r.bound, func(ctx context.Context) (Found, error) { return r.Remote.Look(ctx, r.q) },
		func(late Found) { r.release(ctx, late) })
	switch {
	case ctx.Err() != nil:
		if err == nil {
			r.release(ctx, found)
		}
		return nil, Found{}, "", fault.GivenUp(ctx)
	case err != nil:
		return nil, Found{}, "the shared memory does not answer", nil
	}
	res, at, ok := resultcopy.Decode(found.Value)
	if age := max(time.Since(at), 0); ok && age < r.ttl && resultcopy.Storable(res) { // the clocks of replicas differ
		r.keepNear(res, age)
		r.answered(ctx, &r.call, "hit", age)
		return res, found, "", nil
	}
	return nil, found, "", nil
}

func (r *sharedRead) release(ctx context.Context, found Found) {
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
			r.release(ctx, Found{Ticket: ticket})
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
		r.keep(digest(r.q.ID).key(), &r.call, entry{res: kept, size: size, names: r.q.Names, since: r.since}, age, left)
	}
}

// beginShared reports the begin of a write to the other replicas. The func that it returns
// reports the end, and returns the ticket to keep its result with.
func (c *cacher) beginShared(ctx context.Context, call *middleware.Call, names []Name) (end func() (ticket string)) {
	w := Write{ID: rand.Text(), Server: call.Tool.Server, Names: names}
	w.Until, _ = ctx.Deadline()
	over := make(chan struct{})
	tellEnd := func(ctx context.Context) (string, error) {
		return bounded.Do(ctx, c.bound, func(ctx context.Context) (string, error) { return c.Remote.End(ctx, w) }, nil)
	}
	lost := c.tell(ctx, func(ctx context.Context) error { return c.Remote.Begin(ctx, w) }, func(struct{}) { // the end is what counts
		<-over // a beginning that comes late is ended once more
		_, _ = tellEnd(context.WithoutCancel(ctx))
	})
	return func() string {
		close(over)
		ticket, err := tellEnd(ctx)
		if err != nil {
			record(ctx, "not announced", "other replicas may use results that are older than this write, until the shared cache works again or they expire")
			c.Logger.LogAttrs(ctx, slog.LevelDebug, "cache: the end of a write was not reported to the shared cache", slog.Any("err", err))
		}
		if lost != nil || err != nil { // it may have begun there only after another
			return ""
		}
		return ticket
	}
}
