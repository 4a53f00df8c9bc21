package catalog

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How often the catalogue lists a server by itself.
const (
	settle      = 200 * time.Millisecond // after a change, since more may follow
	pace        = 5 * time.Second        // between the beginnings of two lists
	shortestTTL = time.Minute
	tryAgain    = time.Minute // after a list that failed
)

// ErrClosed is in the tree of the errors of Add and Refresh after Close.
var ErrClosed = errors.New("the catalogue is closed; make a new one")

// A lister lists a server or a replica. The catalogue's mutex guards all but the first three fields and the changes.
type lister struct {
	session Session
	reader  *listing.Reader
	refresh func(context.Context) error // lists it by itself

	announced, read atomic.Int64 // changes that the server announced, and those that the list has

	asked, taken int           // how many lists were asked for, and which of them counts
	fresh        time.Duration // how long a list is, 0 if the server does not say
	timer        *time.Timer   // of the next list, nil for none
	due, began   time.Time     // of the next list, and of the last one that the catalogue began by itself
	busy         bool          // nothing is planned until a list has returned
	changed      bool          // meanwhile the list has changed
	stopped      bool
}

// newLister returns the lister of a session, busy so that no change is missed until it has listed.
func (c *Catalog) newLister(id string, s Session, refresh func(context.Context) error) *lister {
	n := &lister{session: s, reader: listing.NewReader(id, s, c.limits, c.log), refresh: refresh, busy: true}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listers = append(slices.DeleteFunc(c.listers, func(known weak.Pointer[lister]) bool {
		n := known.Value()
		return n == nil || n.stopped
	}), weak.Make(n))
	return n
}

type turn struct {
	number int
	seen   int64
}

func (c *Catalog) list(ctx context.Context, n *lister) (l *listing.Listing, its turn, err error) {
	c.mu.Lock()
	n.asked++
	its = turn{n.asked, n.announced.Load()}
	c.mu.Unlock()
	l, err = n.reader.Read(ctx)
	return l, its, err
}

// take makes a list the one that counts; the caller holds the mutex.
func (n *lister) take(its turn) {
	n.taken = its.number
	n.read.Store(max(n.read.Load(), its.seen))
}

func (n *lister) changing() bool { return n.announced.Load() != n.read.Load() }

// Refresh lists the tools of a server again. After an error its tools stay as they were, with a finding. Of
// several concurrent calls, the list that was requested last counts.
//
// The catalogue refreshes by itself when a client that was made with mount.Options receives notice of a
// change, and when the server's ttlMs is over, at most once a minute. An SDK session that was not prepared by
// mount.Transport answers from its own cache for that time.
func (c *Catalog) Refresh(ctx context.Context, id string) error {
	c.mu.Lock()
	entry := c.servers[id]
	var n *lister
	if entry != nil {
		n = entry.lister
	}
	c.mu.Unlock()
	if n == nil {
		return fmt.Errorf("catalog: there is no server %q; add it first", id)
	}
	l, its, err := c.list(ctx, n)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return fmt.Errorf("catalog: server %q: %w", id, ErrClosed)
	case c.servers[id] != entry:
		return fmt.Errorf("catalog: server %q was removed while its tools were listed", id)
	case its.number < n.taken:
	case err == nil:
		c.install(ctx, entry, l, its)
	case ctx.Err() == nil:
		entry.stale = "the last refresh failed, so what was known before counts: it " +
			strings.TrimPrefix(listing.Line(err), fmt.Sprintf("catalog: server %q ", id))
		c.rebuild(ctx)
		c.events.add(Event{Kind: EventRefreshFailed, Server: id, Err: err})
	}
	return err
}

// install takes a list as what a server offers from now on; the caller holds the mutex.
func (c *Catalog) install(ctx context.Context, entry *server, l *listing.Listing, its turn) {
	n := entry.lister
	entry.definitions = keep(entry.definitions, l.Tools)
	entry.leftOut, entry.stale, entry.bare = l.LeftOut, "", listing.Lost(n.session, l.Prepared, c.notices)
	c.rebuild(ctx)
	n.take(its)
	if n.fresh = l.TTL; l.TTL > 0 {
		n.fresh = max(l.TTL, shortestTTL)
		c.wake(n, n.fresh)
	}
}

func keep(old []*definition, listed []*listing.Definition) []*definition {
	known := make(map[string]*definition, len(old))
	for _, d := range old {
		known[d.Tool.Name()] = d
	}
	all, fresh := make([]*definition, len(listed)), make([]definition, len(listed))
	for i, d := range listed {
		if all[i] = known[d.Tool.Name()]; all[i] == nil || !all[i].same(d) {
			fresh[i].Definition = d
			all[i] = &fresh[i]
		}
	}
	return all
}

func (d *definition) same(l *listing.Definition) bool {
	return d.Tool.Digest == l.Tool.Digest && d.Fault == l.Fault &&
		reflect.DeepEqual(d.Declared, l.Declared) && reflect.DeepEqual(d.Inferred, l.Inferred)
}

// Watch returns the func for mcp.ClientOptions.ToolListChangedHandler; mount.Options sets it. Many notices
// cause few lists: one after 200 ms, and then one every five seconds at most.
func (c *Catalog) Watch() func(context.Context, *mcp.ToolListChangedRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices = true
	return func(_ context.Context, req *mcp.ToolListChangedRequest) {
		if req != nil && req.Session != nil {
			c.Changed(req.Session)
		}
	}
}

// Changed records that a session has announced a change of its tools, for a host that receives the notice
// itself. Approved calls of them wait until the catalogue has read the new list, which it does soon.
func (c *Catalog) Changed(s Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.listers {
		if n := known.Value(); n != nil && n.session == s {
			n.announced.Add(1)
			c.wake(n, settle)
		}
	}
}

// wake plans a list after a while, unless one is planned earlier; the caller holds the mutex.
func (c *Catalog) wake(n *lister, after time.Duration) {
	switch {
	case c.closed || n.stopped:
		return
	case n.busy:
		n.changed = n.changed || after <= settle
		return
	}
	now := time.Now()
	due := now.Add(after)
	if soonest := n.began.Add(pace); due.Before(soonest) {
		due = soonest
	}
	if n.timer != nil {
		if !due.Before(n.due) {
			return
		}
		n.timer.Stop()
	}
	held := weak.Make(n) // its replica may be gone by then
	n.due, n.timer = due, time.AfterFunc(due.Sub(now), func() {
		if n := held.Value(); n != nil {
			c.fire(n)
		}
	})
}

func (c *Catalog) fire(n *lister) {
	c.mu.Lock()
	if c.closed || n.busy || n.timer == nil || time.Now().Before(n.due) {
		c.mu.Unlock()
		return
	}
	n.timer, n.busy, n.changed, n.began = nil, true, false, time.Now()
	c.work.Add(1)
	defer c.work.Done()
	c.mu.Unlock()

	err := n.refresh(c.life)

	c.mu.Lock()
	defer c.mu.Unlock()
	n.busy = false
	switch {
	case sdkerr.ClosedBefore("tools/list", err): // the finding remains until the host adds another session
	case n.changed:
		c.wake(n, settle)
	case err != nil:
		c.wake(n, tryAgain)
	case n.fresh > 0:
		c.wake(n, n.fresh)
	}
}

// stop plans no more lists; the caller holds the mutex.
func (n *lister) stop() {
	n.stopped = true
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
}

// Close ends the catalogue's own work: no server is listed and no event is sent after it has returned, except
// to a listener at work. Lookups and calls go on with what is known, and sessions stay open. It waits for
// the lists in flight, which end at once, and may be called more than once.
func (c *Catalog) Close() error {
	c.mu.Lock()
	c.closed = true
	c.end()
	for _, known := range c.listers {
		if n := known.Value(); n != nil {
			n.stop()
		}
	}
	c.events.close()
	c.mu.Unlock()
	c.work.Wait()
	return nil
}
