package cache

import (
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A moment numbers the changes that the store has seen, over all servers. What
// was asked for at one moment is not believed once something that it names was
// written to at a later one.
type moment uint64

// maxEntities is how many entities of one server the store remembers the last
// write of. Of those that it had to forget it knows when the last of them was
// written to, and believes nothing older about any entity that it does not know.
const maxEntities = 4096

// serverState is what the store knows of the writes to one server. The store's
// mutex guards it.
type serverState struct {
	name    string
	tools   map[string]*origin             // of entries that name nothing, by tool
	whole   moment                         // the last write that may have changed anything
	last    moment                         // the last write at all
	others  moment                         // no entity that is not in touched was written to after this
	touched *simplelru.LRU[entity, moment] // the last write of each; nil before the first
	wholly  int64                          // writes that may change anything
	over    atomic.Int64                   // those of them that have returned; counted without the mutex
	named   map[entity]int                 // and what the others name
}

// changed reports whether a write after since may have changed what the names
// stand for. No names stand for everything.
func (s *serverState) changed(names []entity, since moment) bool {
	if len(names) == 0 {
		return s.last > since
	}
	if s.whole > since {
		return true
	}
	for _, name := range names {
		at := s.others
		if s.touched != nil {
			if known, ok := s.touched.Peek(name); ok {
				at = known
			}
		}
		if at > since {
			return true
		}
	}
	return false
}

// busy reports whether a write under way may change what the names stand for.
func (s *serverState) busy(names []entity) bool {
	if s.wholly > s.over.Load() {
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

func (s *serverState) begin(names []entity, now moment) {
	s.mark(names, now)
	if len(names) == 0 {
		s.wholly++
	}
	for _, name := range names {
		if s.named == nil {
			s.named = make(map[entity]int)
		}
		s.named[name]++
	}
}

func (s *serverState) end(names []entity) {
	if len(names) == 0 {
		s.over.Add(1)
	}
	for _, name := range names {
		if s.named[name]--; s.named[name] == 0 {
			delete(s.named, name)
		}
	}
}

// mark notes that what the names stand for may have changed just now.
func (s *serverState) mark(names []entity, now moment) {
	s.last = now
	if len(names) == 0 {
		s.whole, s.touched = now, nil // older than all that is to come
		return
	}
	if s.touched == nil {
		touched, err := simplelru.NewLRU(maxEntities, func(_ entity, at moment) { s.others = max(s.others, at) })
		if err != nil {
			panic("cache: " + err.Error()) // only for a size below 1
		}
		s.touched = touched
	}
	for _, name := range names {
		s.touched.Add(name, now)
	}
}
