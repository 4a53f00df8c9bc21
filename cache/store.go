package cache

import (
	"cmp"
	"hash/maphash"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

// StoreOptions are the bounds of a [Store]. The zero value is ready.
type StoreOptions struct {
	// Entries is how many results are kept; 0 means 1,000.
	Entries int
	// Bytes is how much memory the results may take, as measured by their text
	// and data; 0 means 64 MiB. A larger result is not kept.
	Bytes int64
}

// A Store holds what is known: results, the calls on their way, and for each
// server what was written to. A host that wants to look into the memory, or to
// forget something, makes one and hands it in with [Options.Store]. Chains that
// share a store see each other's writes and answer each other's reads, so the same
// server id must mean the same server in all of them.
//
// It is safe for concurrent use, and needs no closing. The zero value is not ready; use
// [NewStore].
type Store struct {
	seed maphash.Seed

	mu        sync.Mutex // guards all that follows; never held across a call
	kept      segments
	flights   map[key]*flight
	servers   map[string]*serverState
	lately    *serverState // that of the last look, which is often that of the next
	now       moment
	forgotten moment // when Forget was last called
	stats     Stats
	hot       hot
}

// Stats counts what a [Store] did since it was made.
type Stats struct {
	Hits    uint64 // reads answered from memory
	Joined  uint64 // reads that waited for another's call
	Misses  uint64 // reads that made the call
	Writes  uint64 // calls that ended what they may have changed
	Ended   uint64 // results found to be too old, or written over, when asked for again
	Evicted uint64 // results that had to go for want of room
	Entries int    // results that are kept now
	Bytes   int64  // and what they take
}

// NewStore returns an empty store. It panics on a negative number.
func NewStore(o StoreOptions) *Store {
	switch {
	case o.Entries < 0:
		panic("cache: StoreOptions.Entries is negative")
	case o.Bytes < 0:
		panic("cache: StoreOptions.Bytes is negative")
	}
	return &Store{
		seed:    maphash.MakeSeed(),
		kept:    newSegments(cmp.Or(o.Entries, defaultEntries), cmp.Or(o.Bytes, defaultBytes)),
		flights: make(map[key]*flight),
		servers: make(map[string]*serverState),
	}
}

// clock needs no mutex: it never changes.
func (s *Store) clock() time.Duration { return s.kept.clock() }

// Stats returns the counts as of now.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.hot.filled {
		s.count(q)
	}
	stats := s.stats
	stats.Entries, stats.Bytes = s.kept.len(), s.kept.bytes
	return stats
}

// Forget drops the results of every tool that matches, of every scope, and
// returns how many they were. In both patterns * stands for any text, so that
// ("files", "read") is one tool, ("files", "*") a server, ("*", "list_*") a kind
// of tool and ("*", "*") everything. A read that is under way meanwhile is
// answered but not kept, and nobody joins it any more.
func (s *Store) Forget(server, tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	s.forgotten = s.now
	s.coolAll()
	gone := func(e entry) bool { return match(server, e.of.server.name) && match(tool, e.of.tool) }
	return s.kept.removeIf(s.kept.quick, gone) + s.kept.removeIf(s.kept.slow, gone)
}

// match reports whether the text is what the pattern says. It looks at each star
// once more at most, so that no pattern takes long.
func match(pattern, text string) bool {
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// server returns the state of a server; the caller holds the mutex.
func (s *Store) server(name string) *serverState {
	if s.lately != nil && s.lately.name == name {
		return s.lately
	}
	on := s.servers[name]
	if on == nil {
		on = &serverState{name: name, tools: make(map[string]*origin)}
		s.servers[name] = on
	}
	s.lately = on
	return on
}

// maxOrigins is how many tools of one server share an origin among their entries.
const maxOrigins = 4096

// origin returns what the entries of a tool are of, which those that name nothing
// share. The caller holds the mutex.
func (s *Store) origin(tool *middleware.Tool, names []entity) *origin {
	on := s.server(tool.Server)
	if of := on.tools[tool.Name()]; of != nil && len(names) == 0 {
		return of
	}
	of := &origin{server: on, tool: tool.Name(), names: names}
	if len(names) == 0 && len(on.tools) < maxOrigins {
		on.tools[of.tool] = of
	}
	return of
}
