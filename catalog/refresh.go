package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/catalog/internal/listing"
)

// Refresh lists the tools of a server again. After an error its tools stay as they were, with a finding. Of
// several concurrent calls, the list that was requested last counts.
//
// The catalog refreshes by itself when a client that was made with mount.Options receives notice of a
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

// keep returns the definitions of a list. One that is as it was keeps what was computed of it, and its *middleware.Tool.
func keep(old []*definition, listed []*listing.Definition) []*definition {
	known := make(map[string]*definition, len(old))
	for _, d := range old {
		known[d.Tool.Name()] = d
	}
	all, fresh := make([]*definition, len(listed)), make([]definition, len(listed))
	for i, d := range listed {
		if all[i] = known[d.Tool.Name()]; all[i] == nil || !all[i].Same(d) {
			fresh[i].Definition = d
			all[i] = &fresh[i]
		}
	}
	return all
}
