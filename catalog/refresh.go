package catalog

import (
	"context"
	"fmt"
	"reflect"
	"strings"
)

// Remove takes a server and its tools out, to add it again with another session or
// for good. What the host has said of it, trust and overrides, is kept. The session
// is the host's to close. A server that is not there is none the less gone.
func (c *Catalog) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[id]
	if s == nil || !s.added {
		return
	}
	s.next.stop()
	// A list that is under way still answers to the old entry, which nobody asks.
	c.servers[id] = &server{trusted: s.trusted, overrides: s.overrides}
	c.rebuild(context.Background())
}

// install takes a list as what a server offers from now on; the caller holds the
// mutex.
func (c *Catalog) install(ctx context.Context, id string, l *listing) {
	entry := c.server(id)
	entry.definitions = keep(entry.definitions, l.accepted)
	entry.refused, entry.stale, entry.bare = l.refused, "", c.bare(entry.session, l.prepared)
	c.rebuild(ctx)
	if entry.ttl = l.ttl; l.ttl > 0 {
		entry.ttl = max(l.ttl, shortestTTL)
		c.wake(id, entry, entry.ttl)
	}
}

// keep returns the new definitions, each of them the old one where nothing about it
// has changed.
func keep(old, listed []*definition) []*definition {
	known := make(map[string]*definition, len(old))
	for _, d := range old {
		known[d.tool.Name()] = d
	}
	for i, d := range listed {
		if was := known[d.tool.Name()]; was != nil && was.same(d) {
			listed[i] = was
		}
	}
	return listed
}

func (d *definition) same(o *definition) bool {
	return d.tool.Digest == o.tool.Digest && d.fault == o.fault &&
		reflect.DeepEqual(d.declared, o.declared) && reflect.DeepEqual(d.inferred, o.inferred)
}

// Refresh lists the tools of a server again. After an error its tools are what they
// were, and a finding says so. Of several at once, the list that was asked for last
// counts.
//
// The catalogue refreshes by itself when a client that was made with mount.Options
// hears that a list has changed, and when the time is over for which the server
// called its list fresh (ttlMs), at most once a minute. An SDK session that was not
// prepared by mount.Transport answers from its own memory for that time.
func (c *Catalog) Refresh(ctx context.Context, id string) error {
	entry, turn := c.turn(id)
	if entry == nil {
		return fmt.Errorf("catalog: there is no server %q; add it first", id)
	}
	l, err := c.list(ctx, id, entry.session, entry.asking)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.watcher.closed:
		return fmt.Errorf("catalog: server %q: %w", id, ErrClosed)
	case c.servers[id] != entry:
		return fmt.Errorf("catalog: server %q was removed while its tools were listed", id)
	case err != nil && ctx.Err() == nil && turn > entry.answered:
		entry.stale = "the last refresh failed, so what was known before counts: it " +
			strings.TrimPrefix(line(err), fmt.Sprintf("catalog: server %q ", id))
		c.rebuild(ctx)
		c.events.add(Event{Kind: EventRefreshFailed, Server: id, Err: err})
	case err == nil && turn > entry.answered:
		entry.answered = turn
		c.install(ctx, id, l)
	}
	return err
}

// turn returns a server and the number of a new list of it, nil where none was
// added. Its session stays the same.
func (c *Catalog) turn(id string) (*server, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.servers[id]
	if entry == nil || !entry.added {
		return nil, 0
	}
	entry.asked++
	return entry, entry.asked
}
