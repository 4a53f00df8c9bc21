package catalog

import (
	"context"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How often the catalog lists a server by itself. Each lister has one timer at most, of its next list; wake sets it
// to the earliest of what is wanted, and never sooner than pace after the list before, so that a server that
// announces changes without end costs one list in five seconds.
const (
	settle      = 200 * time.Millisecond // after a change, since more may follow
	pace        = 5 * time.Second        // between the beginnings of two lists
	shortestTTL = time.Minute
	tryAgain    = time.Minute // after a list that failed
)

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
// itself. Calls of them wait until the catalog has read the new list, which it does soon, and are refused if it cannot.
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

// fire lists a server or replica whose time has come, and plans its next list. The timer may have been replaced
// since it fired: then the list is not due yet.
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
