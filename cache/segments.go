package cache

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An entry is a result with what it takes to know how long it is believed. There may
// be a million of them, so it holds nothing that another could hold for it.
type entry struct {
	res     *mcp.CallToolResult
	of      *origin
	since   moment        // when it was asked
	expires time.Duration // by the store's clock
	size    uint32
	slow    bool // took long to get
}

// An origin is what entries are of: a tool, and what was asked about.
type origin struct {
	server *serverState
	tool   string
	names  []entity // none for a list
}

// believed reports whether the entry may be answered again.
func (e *entry) believed(now time.Duration) bool {
	return now < e.expires && !e.of.server.changed(e.of.names, e.since)
}

// A half is the first half of a key: as long as a UUID, which nobody finds twice.
type half [16]byte

func (k key) half() half { return half(k[:16]) }

// segments hold the entries in two lists, least recently used first: what can be
// fetched again quickly, and what cannot. Where room is wanted the quick ones go
// first. The slow ones take at most four fifths of it, which is the protected
// share of a segmented LRU, so that there is always room to remember a new read.
type segments struct {
	born            time.Time
	quick, slow     *simplelru.LRU[half, entry]
	maxEntries      int
	bytes, maxBytes int64
	slowBytes       int64
	maxSlow         int
	maxSlowBytes    int64
	nextSweep       time.Duration
}

// sweepEvery bounds how often the slow segment is searched for what has ended.
const sweepEvery = time.Second

func newSegments(entries int, bytes int64) segments {
	return segments{
		born:       time.Now(),
		maxEntries: entries, maxBytes: bytes,
		maxSlow: max(1, entries/5*4), maxSlowBytes: bytes / 5 * 4,
		quick: newList(entries), slow: newList(entries),
	}
}

// clock is how long there has been a store, which the monotonic clock knows alone: it
// takes one reading where time.Now takes two, and a third of the room.
func (s *segments) clock() time.Duration { return time.Since(s.born) }

// newList returns a list that is never full by itself.
func newList(entries int) *simplelru.LRU[half, entry] {
	list, err := simplelru.NewLRU[half, entry](entries+1, nil)
	if err != nil {
		panic("cache: " + err.Error()) // only for a size below 1, which New rules out
	}
	return list
}

func (s *segments) len() int { return s.quick.Len() + s.slow.Len() }

func (s *segments) get(id half) (entry, bool) {
	if e, ok := s.quick.Get(id); ok {
		return e, true
	}
	if s.slow.Len() == 0 {
		return entry{}, false
	}
	return s.slow.Get(id)
}

func (s *segments) has(id half) bool {
	return s.quick.Contains(id) || s.slow.Len() > 0 && s.slow.Contains(id)
}

func (s *segments) list(slow bool) *simplelru.LRU[half, entry] {
	if slow {
		return s.slow
	}
	return s.quick
}

func (s *segments) remove(id half) {
	for _, list := range [...]*simplelru.LRU[half, entry]{s.quick, s.slow} {
		if e, ok := list.Peek(id); ok {
			list.Remove(id)
			s.count(e, -1)
			return
		}
	}
}

func (s *segments) count(e entry, sign int64) {
	s.bytes += sign * int64(e.size)
	if e.slow {
		s.slowBytes += sign * int64(e.size)
	}
}

// add keeps an entry under a key that has none, and returns how many others had to go for it. What is no
// longer believed goes before what is.
func (s *segments) add(id half, e entry) (evicted uint64) {
	e.slow = e.slow && int64(e.size) <= s.maxSlowBytes
	s.list(e.slow).Add(id, e)
	s.count(e, 1)
	if s.full() {
		s.sweep()
	}
	for s.slow.Len() > s.maxSlow || s.slowBytes > s.maxSlowBytes {
		s.removeOldest(s.slow)
		evicted++
	}
	for s.full() {
		if s.quick.Len() > 0 {
			s.removeOldest(s.quick)
		} else {
			s.removeOldest(s.slow)
		}
		evicted++
	}
	return evicted
}

// crowded reports whether something has to go for a new entry.
func (s *segments) crowded(e *entry) bool {
	return s.len() >= s.maxEntries || s.bytes+int64(e.size) > s.maxBytes ||
		e.slow && (s.slow.Len() >= s.maxSlow || s.slowBytes+int64(e.size) > s.maxSlowBytes)
}

func (s *segments) full() bool {
	return s.len() > s.maxEntries || s.bytes > s.maxBytes ||
		s.slow.Len() > s.maxSlow || s.slowBytes > s.maxSlowBytes
}

func (s *segments) removeOldest(list *simplelru.LRU[half, entry]) {
	if _, e, ok := list.RemoveOldest(); ok {
		s.count(e, -1)
	}
}

// sweep drops those of the slow segment that have ended, since no newcomer would
// push them out.
func (s *segments) sweep() {
	if s.slow.Len() == 0 {
		return
	}
	now := s.clock()
	if now < s.nextSweep {
		return
	}
	s.nextSweep = now + sweepEvery
	s.removeIf(s.slow, func(e entry) bool { return !e.believed(now) })
}

func (s *segments) removeIf(list *simplelru.LRU[half, entry], gone func(entry) bool) (removed int) {
	for _, id := range list.Keys() {
		if e, ok := list.Peek(id); ok && gone(e) {
			list.Remove(id)
			s.count(e, -1)
			removed++
		}
	}
	return removed
}
