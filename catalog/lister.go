package catalog

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/catalog/internal/listing"
)

// A lister lists a server or a replica, and decides when to do so again. Several lists of one session may be in flight:
// the host's, and one that the catalog began by itself. They are numbered when they are requested, and one that
// was requested before the list that counts is dropped, whenever it returns.
//
// announced and read show whether a change was announced that no list has: a list takes the number of announcements
// at its beginning, since one that arrives meanwhile may not be in it. The guard reads both without a lock.
//
// The catalog's mutex guards all but the first four fields and the changes.
type lister struct {
	number  uint64 // of this session, see [callstate.Admitted]
	session Session
	reader  *listing.Reader
	refresh func(context.Context) error // lists it by itself

	announced, read atomic.Int64 // changes that the server announced, and those that the list has

	asked, taken int           // how many lists were asked for, and which of them counts
	awaited      *awaited      // the list that calls wait for, nil for none
	fresh        time.Duration // how long a list is, 0 if the server does not say
	timer        *time.Timer   // of the next list, nil for none
	due, began   time.Time     // of the next list, and of the last one that the catalog began by itself
	busy         bool          // nothing is planned until a list has returned
	changed      bool          // meanwhile the list has changed
	stopped      bool
}

// sessions is how many sessions there were in this process.
var sessions atomic.Uint64

// id returns the number of a session, 0 for tools that have none.
func (n *lister) id() uint64 {
	if n == nil {
		return 0
	}
	return n.number
}

// newLister returns the lister of a session, busy so that no change is missed until it has listed.
func (c *Catalog) newLister(id string, s Session, refresh func(context.Context) error) *lister {
	n := &lister{number: sessions.Add(1), session: s, reader: listing.NewReader(id, s, c.limits, c.log), refresh: refresh, busy: true}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listers = append(slices.DeleteFunc(c.listers, func(known weak.Pointer[lister]) bool {
		n := known.Value()
		return n == nil || n.stopped
	}), weak.Make(n))
	return n
}

// A turn is the place of one list among those of its lister.
type turn struct {
	number int   // in the order of requests
	seen   int64 // the changes that were announced before it began
}

// list lists the tools. The caller takes the list, or drops it, under the mutex.
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

// changing reports whether a change was announced that no list has yet.
func (n *lister) changing() bool { return n.announced.Load() != n.read.Load() }

// An awaited is a list that calls wait for since a change was announced.
type awaited struct {
	seen int64         // the changes that were announced before it was asked for
	over chan struct{} // closed when it has ended
	err  error         // set before
}

// settle reads each change that was announced, for a call. Calls that come together wait for one list, which goes on if they
// give up, as long as a list may take. The next call after one that failed asks again: a change that cannot be read is never
// taken for none.
func (n *lister) settle(ctx context.Context, c *Catalog, refresh func(context.Context) error) error {
	if !n.changing() {
		return nil
	}
	c.mu.Lock()
	a := n.awaited
	if seen := n.announced.Load(); a == nil || a.seen != seen {
		if c.closed {
			c.mu.Unlock()
			return ErrClosed
		}
		a = &awaited{seen: seen, over: make(chan struct{})}
		n.awaited = a
		within, stop := context.WithCancel(context.WithoutCancel(ctx))
		after := context.AfterFunc(c.life, stop) //nolint:contextcheck // the work ends with the catalog, and not with the call
		c.work.Go(func() {
			defer stop()
			defer after()
			a.err = refresh(within)
			c.mu.Lock()
			defer c.mu.Unlock()
			if n.awaited == a {
				n.awaited = nil
			}
			close(a.over)
		})
	}
	c.mu.Unlock()
	select {
	case <-a.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if a.err != nil && n.changing() { // or another list has what was announced
		return a.err
	}
	return nil
}

// stop plans no more lists; the caller holds the mutex.
func (n *lister) stop() {
	n.stopped = true
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
}
