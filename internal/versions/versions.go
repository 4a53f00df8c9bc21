// Package versions records which writes to servers are in flight, and which reads they have made stale. Each
// write raises the version when it begins. A result that was requested at one version is stale once something
// that it is about was written at a later one, so only the last write to each entity is recorded.
package versions

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Version counts the writes that a store has seen, over all servers. The first is 1.
type Version uint64

// maxEntities is how many entities of one server have a last write of their own; then the newest counts for all.
const maxEntities = 4096

// maxServers is how many servers are recorded, and those with a write in flight besides.
const maxServers = 1024

// Servers records the writes to each server, by names of type N. A write or read without names is about
// everything that the server holds. The zero value is ready. It is safe for concurrent use. While no write begins
// or is in flight, reads take no lock.
type Servers[N comparable] struct {
	begun atomic.Uint64 // writes, and what counts as one
	ended atomic.Uint64 // of those

	mu      sync.Mutex // guards what follows
	byName  map[string]*server[N]
	latest  *server[N] // whose record was looked for last, as it mostly is again; nil for none
	dropped Version    // what was requested earlier from a server that is not recorded is stale
	writes  uint64     // without what only counts as one
}

// Now returns the version as of now.
func (s *Servers[N]) Now() Version { return Version(s.begun.Load() + 1) }

// Raise makes the version a new one, as a write does, and returns it. Nothing becomes stale.
func (s *Servers[N]) Raise() Version {
	now := s.begin()
	s.ended.Add(1)
	return now
}

func (s *Servers[N]) begin() Version { return Version(s.begun.Add(1) + 1) }

// idle reports whether no write is in flight. All that had begun when ended was read have ended if as many have begun
// even now.
func (s *Servers[N]) idle() bool {
	ended := s.ended.Load()
	return ended == s.begun.Load()
}

// Writes returns how many writes have begun.
func (s *Servers[N]) Writes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Request returns the version of a read that is requested now. It is 0, older than every write, while a write
// to the same things is in flight, so that the result is neither cached nor shared.
func (s *Servers[N]) Request(server string, names []N) Version {
	now := s.Now() // first: a write that is not in flight yet will be a later one
	if s.Busy(server, names) {
		return 0
	}
	return now
}

// Busy reports whether a write in flight may change what the names stand for.
func (s *Servers[N]) Busy(server string, names []N) bool {
	if s.idle() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	on := s.byName[server]
	return on != nil && on.busy(names)
}

// Changed reports whether a write after since may have changed what the names stand for.
func (s *Servers[N]) Changed(server string, names []N, since Version) bool {
	if since == s.Now() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if on := s.byName[server]; on != nil {
		return since == 0 || on.changed(names, since)
	}
	return since == 0 || s.dropped > since
}

// A Write is one that is in flight. It ends once.
type Write[N comparable] struct {
	// Since is the version of the write's own result. It is 0 if others were in flight when it began, since they may
	// come last.
	Since Version

	servers *Servers[N]
	on      *server[N]
	names   []N
}

// Begin records the begin of a write to the names.
func (s *Servers[N]) Begin(server string, names []N) Write[N] {
	s.mu.Lock()
	defer s.mu.Unlock()
	on := s.of(server)
	others := on.busy(names)
	now := s.begin()
	on.mark(names, now)
	s.writes++
	if len(names) == 0 {
		on.begun++
	}
	for _, name := range names {
		on.named[name]++
	}
	if others {
		now = 0
	}
	return Write[N]{now, s, on, names}
}

// End records that the write has returned. Without names it takes no lock: the record of a server with a write in
// flight is not dropped, and a reader that still sees the write counted takes it for one that has not returned.
func (w *Write[N]) End() {
	if len(w.names) == 0 {
		w.on.ended.Add(1)
	} else {
		w.servers.mu.Lock()
		defer w.servers.mu.Unlock()
	}
	for _, name := range w.names {
		if w.on.named[name]--; w.on.named[name] == 0 {
			delete(w.on.named, name)
		}
	}
	w.servers.ended.Add(1)
}

// Mark records that what the names stand for may have changed now.
func (s *Servers[N]) Mark(server string, names []N) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(server).mark(names, s.Raise())
}

// of returns the record of a server. The caller holds the lock.
func (s *Servers[N]) of(name string) *server[N] {
	if s.latest != nil && s.latest.name == name {
		return s.latest
	}
	on := s.byName[name]
	if on == nil {
		if s.byName == nil {
			s.byName = make(map[string]*server[N])
		}
		if len(s.byName) >= maxServers {
			s.drop()
		}
		on = &server[N]{name: name, whole: s.dropped, last: s.dropped, written: make(map[N]Version), named: make(map[N]int)}
		s.byName[name] = on
	}
	s.latest = on
	return on
}

// drop removes the servers without a write in flight.
func (s *Servers[N]) drop() {
	s.latest = nil
	s.dropped = s.Raise()
	for name, on := range s.byName {
		if !on.busy(nil) {
			delete(s.byName, name)
		}
	}
}

// A server is the record of the writes to one.
type server[N comparable] struct {
	name    string
	whole   Version       // the last write without names
	last    Version       // the last write of any kind
	others  Version       // no entity outside of written was written after this
	written map[N]Version // the last write to each entity
	begun   uint64        // writes without names
	ended   atomic.Uint64 // of those; counted without the lock
	named   map[N]int     // what the other writes in flight name
}

// changed reports whether something that the names stand for was written later.
// mark records a write to the names.
func (s *server[N]) mark(names []N, now Version) {
	s.last = now
	if len(names) == 0 {
		s.whole = now // every other write is older
		if len(s.written) > 0 {
			clear(s.written)
		}
	}
	for _, name := range names {
		if len(s.written) >= maxEntities {
			clear(s.written)
			s.others = now
		}
		s.written[name] = now
	}
}

func (s *server[N]) changed(names []N, since Version) bool {
	if len(names) == 0 {
		return s.last > since
	}
	if s.whole > since {
		return true
	}
	return slices.ContainsFunc(names, func(name N) bool {
		at, known := s.written[name]
		if !known {
			at = s.others
		}
		return at > since
	})
}

// busy reports whether a write in flight may change what the names stand for.
func (s *server[N]) busy(names []N) bool {
	if s.begun > s.ended.Load() {
		return true
	}
	if len(names) == 0 {
		return len(s.named) > 0
	}
	return slices.ContainsFunc(names, func(name N) bool { return s.named[name] > 0 })
}
