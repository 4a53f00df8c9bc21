// Package versions records which writes to servers are in flight, and which reads they have made stale. Each
// write raises the version when it begins. A result that was requested at one version is stale once something
// that it is about was written at a later one, so only the last write to each entity is recorded.
package versions

import "math"

// A Version counts the writes that a store has seen, over all servers.
type Version uint64

// maxEntities is how many entities of one server have a last write of their own; then the newest counts for all.
const maxEntities = 4096

// maxServers is how many servers are recorded, and those with a write in flight besides.
const maxServers = 1024

// Servers records the writes to each server, by names of type N. The zero value is ready. Its store guards it.
type Servers[N comparable] struct {
	Now    Version
	byName map[string]*Server[N]
}

// Of returns the state of a server.
func (s *Servers[N]) Of(name string) *Server[N] {
	on := s.byName[name]
	if on == nil {
		if s.byName == nil {
			s.byName = make(map[string]*Server[N])
		}
		if len(s.byName) >= maxServers {
			s.drop()
		}
		on = &Server[N]{whole: s.Now, last: s.Now, written: make(map[N]Version), named: make(map[N]int)}
		s.byName[name] = on
	}
	return on
}

// drop removes the servers without a write in flight. Anything requested from them is stale from then on.
func (s *Servers[N]) drop() {
	for name, on := range s.byName {
		if !on.Busy(nil) {
			on.whole, on.last = math.MaxUint64, math.MaxUint64
			delete(s.byName, name)
		}
	}
}

// Request returns the version of a read that is requested now. It is 0, older than every write, while a write
// to the same things is in flight, so that the result is neither cached nor shared.
func (s *Servers[N]) Request(on *Server[N], names []N) Version {
	if on.Busy(names) {
		return 0
	}
	return s.Now
}

// Begin records the begin of a write to the names. It returns the version of the write's own result, which is
// 0 while others are in flight, since they may come last.
func (s *Servers[N]) Begin(on *Server[N], names []N) Version {
	others := on.Busy(names)
	s.Mark(on, names)
	if len(names) == 0 {
		on.inFlight++
	}
	for _, name := range names {
		on.named[name]++
	}
	if others {
		return 0
	}
	return s.Now
}

// Mark records that what the names stand for may have changed now.
func (s *Servers[N]) Mark(on *Server[N], names []N) {
	s.Now++
	on.last = s.Now
	if len(names) == 0 {
		on.whole = s.Now // every other write is older
		clear(on.written)
		return
	}
	for _, name := range names {
		if len(on.written) >= maxEntities {
			clear(on.written)
			on.others = s.Now
		}
		on.written[name] = s.Now
	}
}

// A Server records the writes to one server. A write or read without names is about everything.
type Server[N comparable] struct {
	whole    Version       // the last write without names
	last     Version       // the last write of any kind
	others   Version       // no entity outside of written was written after this
	written  map[N]Version // the last write to each entity
	inFlight int           // writes without names that are in flight
	named    map[N]int     // what the other writes in flight name
}

// Changed reports whether a write after since may have changed what the names stand for.
func (s *Server[N]) Changed(names []N, since Version) bool {
	if len(names) == 0 {
		return s.last > since
	}
	if s.whole > since {
		return true
	}
	for _, name := range names {
		at, known := s.written[name]
		if !known {
			at = s.others
		}
		if at > since {
			return true
		}
	}
	return false
}

// Busy reports whether a write in flight may change what the names stand for.
func (s *Server[N]) Busy(names []N) bool {
	if s.inFlight > 0 {
		return true
	}
	if len(names) == 0 {
		return len(s.named) > 0
	}
	for _, name := range names {
		if s.named[name] > 0 {
			return true
		}
	}
	return false
}

// End records that a write has returned.
func (s *Server[N]) End(names []N) {
	if len(names) == 0 {
		s.inFlight--
	}
	for _, name := range names {
		if s.named[name]--; s.named[name] == 0 {
			delete(s.named, name)
		}
	}
}
