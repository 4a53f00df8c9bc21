package cache

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// find returns what is believed about the key; the caller holds the mutex.
func (s *Store) find(id key, server string, now time.Time) *mcp.CallToolResult {
	e, ok := s.kept.get(id)
	if !ok {
		return nil
	}
	// A write under way needs no look: it marked what it may change when it began,
	// and nothing that was asked for since is kept before it ends.
	if !e.believed(s.server(server), now) {
		s.kept.remove(id)
		s.stats.Ended++
		return nil
	}
	s.stats.Hits++
	return e.res
}

// lookup returns a result that may be answered again.
func (s *Store) lookup(id key, server string, now time.Time) (*mcp.CallToolResult, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	res := s.find(id, server, now)
	return res, res != nil
}

// join returns a known result, or a call on its way that the caller now waits
// for, or a new flight that the caller leads. A caller with more time than the
// flight flies by itself and takes the key over.
func (s *Store) join(ctx context.Context, id key, server string, names []entity) (res *mcp.CallToolResult, f *flight, leads bool) {
	deadline, _ := ctx.Deadline()
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if res := s.find(id, server, now); res != nil {
		return res, nil, false
	}
	if f := s.flights[id]; f != nil && s.fresh(server, names, f.since) && covers(f.deadline, deadline) {
		f.waiting++
		s.stats.Joined++
		return nil, f, false
	}
	s.stats.Misses++
	f = &flight{id: id, names: names, since: s.now, deadline: deadline, done: make(chan struct{}), waiting: 1}
	s.flights[id] = f
	return nil, f, true
}

// covers reports whether a flight that ends at have serves a caller that has
// until want; zero means no end.
func covers(have, want time.Time) bool {
	return have.IsZero() || !want.IsZero() && !have.Before(want)
}

// leave counts one caller out; the last one ends the flight, and nobody joins it
// any more.
func (s *Store) leave(f *flight) {
	s.mu.Lock()
	f.waiting--
	abandoned := f.waiting == 0
	if abandoned && s.flights[f.id] == f {
		delete(s.flights, f.id)
	}
	s.mu.Unlock()
	if abandoned {
		f.cancel()
	}
}

// land ends a flight and wakes its callers.
func (s *Store) land(f *flight) {
	s.mu.Lock()
	if s.flights[f.id] == f {
		delete(s.flights, f.id)
	}
	s.mu.Unlock()
	close(f.done)
}

// fresh reports whether what was asked at the moment since still holds: nothing
// that it names was written to or forgotten after that, or is written to now. The
// caller holds the mutex.
func (s *Store) fresh(server string, names []entity, since moment) bool {
	on := s.server(server)
	return since >= s.forgotten && !on.changed(names, since) && !on.busy(names)
}

// store keeps a result that was asked for at e.since, unless what it names may
// have changed meanwhile.
func (s *Store) store(id key, e entry) {
	e.size = sizeOf(e.res)
	if e.size > s.kept.maxBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh(e.server, e.names, e.since) {
		return
	}
	s.stats.Evicted += s.kept.add(id, e, func(old entry, now time.Time) bool { return old.believed(s.server(old.server), now) })
}

// beginWrite forgets what the write may change, and keeps reads that overlap it
// from being stored. No names means everything that the server holds.
func (s *Store) beginWrite(server string, names []entity) moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Writes++
	s.now++
	s.server(server).begin(names, s.now)
	return s.now
}

// endWrite forgets once more and returns the moment that begins. The write was
// alone if nothing else changed what it names since it began, so that what it
// wrote is what is there.
func (s *Store) endWrite(server string, names []entity, began moment) (now moment, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	on := s.server(server)
	on.end(names)
	alone = s.fresh(server, names, began)
	on.mark(names, s.now)
	return s.now, alone
}
