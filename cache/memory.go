package cache

import (
	"context"
	"math"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// find returns what is believed about the key; the caller holds the mutex.
func (s *Store) find(id key, now time.Duration) (e entry, ok bool) {
	if e, ok = s.kept.get(id.half()); !ok {
		return entry{}, false
	}
	// A write under way needs no look: it marked what it may change when it began,
	// and nothing that was asked for since is kept before it ends.
	if !e.believed(now) {
		s.coolAll()
		s.kept.remove(id.half())
		s.stats.Ended++
		return entry{}, false
	}
	s.stats.Hits++
	return e, true
}

// lookup returns a result that may be answered again.
func (s *Store) lookup(at place, call *middleware.Call, id key, now time.Duration) (*mcp.CallToolResult, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.find(id, now)
	if ok {
		s.warm(at, call, id, &e)
	}
	return e.res, ok
}

// join returns a known result, or a call on its way that the caller now waits
// for, or a new flight that the caller leads. A caller with more time than the
// flight flies by itself and takes the key over.
func (s *Store) join(ctx context.Context, id key, server string, names []entity, now time.Duration) (res *mcp.CallToolResult, f *flight, leads bool) {
	deadline, _ := ctx.Deadline()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.find(id, now); ok {
		return e.res, nil, false
	}
	if f := s.flights[id]; f != nil && s.fresh(s.server(server), names, f.since) && covers(f.deadline, deadline) {
		f.waiting++
		if f.done == nil {
			f.done = make(chan struct{})
		}
		s.stats.Joined++
		return nil, f, false
	}
	s.stats.Misses++
	f = &flight{id: id, names: names, since: s.asked(server, names), deadline: deadline, waiting: 1}
	if ctx.Done() != nil { // the leader will wait, too
		f.done = make(chan struct{})
	}
	s.flights[id] = f
	return nil, f, true
}

// asked returns the moment of a question that is asked now. While what it names is
// written to, nobody knows what the answer will show: it is as old as can be, so that
// it is neither kept nor shared. The caller holds the mutex.
func (s *Store) asked(server string, names []entity) moment {
	if s.server(server).busy(names) {
		return 0
	}
	return s.now
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
	done := f.done // nobody joins any more
	s.mu.Unlock()
	if done != nil {
		close(done)
	}
}

// fresh reports whether what was asked at the moment since still holds: nothing
// that it names was written to or forgotten after that. A write that began before it
// and is still under way needs no look (see asked). The caller holds the mutex.
func (s *Store) fresh(on *serverState, names []entity, since moment) bool {
	return since >= s.forgotten && !on.changed(names, since)
}

// store keeps a result of the tool that was asked for at e.since, unless what it names may
// have changed meanwhile.
func (s *Store) store(id key, tool *middleware.Tool, names []entity, e entry) {
	size := sizeOf(e.res)
	if size > min(s.kept.maxBytes, math.MaxUint32) {
		return
	}
	e.size = uint32(size)
	s.mu.Lock()
	defer s.mu.Unlock()
	e.of = s.origin(tool, names)
	if !s.fresh(e.of.server, e.of.names, e.since) {
		return
	}
	had := s.kept.has(id.half())
	if had || s.kept.crowded(&e) {
		s.coolAll() // what has been used is known before something has to go
	}
	if had {
		s.kept.remove(id.half())
	}
	s.stats.Evicted += s.kept.add(id.half(), e)
}

// beginWrite forgets what the write may change, and keeps reads that overlap it
// from being stored. No names means everything that the server holds. It began at no
// moment where others are under way.
func (s *Store) beginWrite(server string, names []entity) (on *serverState, began moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Writes++
	s.now++
	s.coolAll()
	on = s.server(server)
	if !on.busy(names) { // else the others may come last, see alone
		began = s.now
	}
	on.begin(names, s.now)
	return on, began
}

// endWrite says that a write has returned. What it ended is forgotten already, and
// what was asked for meanwhile is not kept (see asked), so one that may have changed
// anything is counted down without the mutex.
func (s *Store) endWrite(on *serverState, names []entity) {
	if len(names) == 0 {
		on.over.Add(1)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	on.end(names)
}

// alone reports whether nothing else may have changed what a write names since it
// began, or before and after that, so that what it wrote is what is there now.
func (s *Store) alone(server string, names []entity, began moment) (now moment, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.fresh(s.server(server), names, began)
}
