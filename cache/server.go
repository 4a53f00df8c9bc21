package cache

import "github.com/hashicorp/golang-lru/v2/simplelru"

// A version counts the writes that a store has seen, over all servers. A result
// that was requested at one version is stale once something that it is about was
// written at a later one.
type version uint64

// maxEntities is how many entities of one server have a last write of their own.
// For all others the newest of the writes that were dropped counts.
const maxEntities = 4096

// servers holds what is known of the writes to each server. The mutex of the store
// that it belongs to guards it.
type servers struct {
	now    version
	byName map[string]*server
}

// of returns the state of a server.
func (s *servers) of(name string) *server {
	on := s.byName[name]
	if on == nil {
		on = new(server)
		s.byName[name] = on
	}
	return on
}

// A server is what is known of the writes to one server. A write or a read that
// has no names is about everything that the server holds.
type server struct {
	whole    version                       // the last write without names
	last     version                       // the last write of any kind
	others   version                       // no entity outside of written was written after this
	written  *simplelru.LRU[Name, version] // the last write to each entity; nil before the first
	inFlight int                           // writes without names that are in flight
	named    map[Name]int                  // what the other writes in flight name
}

// changed reports whether a write after since may have changed what the names
// stand for.
func (s *server) changed(names []Name, since version) bool {
	if len(names) == 0 {
		return s.last > since
	}
	if s.whole > since {
		return true
	}
	for _, name := range names {
		at := s.others
		if s.written != nil {
			if known, ok := s.written.Peek(name); ok {
				at = known
			}
		}
		if at > since {
			return true
		}
	}
	return false
}

// busy reports whether a write in flight may change what the names stand for.
func (s *server) busy(names []Name) bool {
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

// begin records that a write begins, which may change what the names stand for.
func (s *server) begin(names []Name, now version) {
	s.mark(names, now)
	if len(names) == 0 {
		s.inFlight++
	}
	for _, name := range names {
		if s.named == nil {
			s.named = make(map[Name]int)
		}
		s.named[name]++
	}
}

// end records that a write has returned.
func (s *server) end(names []Name) {
	if len(names) == 0 {
		s.inFlight--
	}
	for _, name := range names {
		if s.named[name]--; s.named[name] == 0 {
			delete(s.named, name)
		}
	}
}

// mark records that what the names stand for may have changed at this version.
func (s *server) mark(names []Name, now version) {
	s.last = now
	if len(names) == 0 {
		s.whole, s.written = now, nil // every other write is older
		return
	}
	if s.written == nil {
		s.written = newLRU(maxEntities, func(_ Name, at version) { s.others = max(s.others, at) })
	}
	for _, name := range names {
		s.written.Add(name, now)
	}
}

func newLRU[K comparable, V any](size int, onEvict func(K, V)) *simplelru.LRU[K, V] {
	list, err := simplelru.NewLRU(size, onEvict)
	if err != nil {
		panic("cache: " + err.Error()) // only for a size below 1
	}
	return list
}
