package cache

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A generation numbers the times at which a server may have changed. What was
// fetched in one generation is not believed in the next.
type generation uint64

// memory holds what is known: results, the calls on their way, and for each
// server how often it was written to and how many writes are under way. One
// mutex guards all of it and is never held across a call.
type memory struct {
	mu       sync.Mutex
	entries  *simplelru.LRU[key, entry]
	bytes    int64
	maxBytes int64
	flights  map[key]*flight
	servers  map[string]*serverState
}

type serverState struct {
	generation generation
	writing    int
}

type entry struct {
	res        *mcp.CallToolResult
	generation generation
	expires    time.Time
	size       int64
}

func newMemory(entries int, bytes int64) *memory {
	m := &memory{maxBytes: bytes, flights: make(map[key]*flight), servers: make(map[string]*serverState)}
	lru, err := simplelru.NewLRU(entries, func(_ key, e entry) { m.bytes -= e.size })
	if err != nil {
		panic("cache: " + err.Error()) // only for a size below 1, which New rules out
	}
	m.entries = lru
	return m
}

// server returns the state of a server; the caller holds the mutex.
func (m *memory) server(name string) *serverState {
	s := m.servers[name]
	if s == nil {
		s = new(serverState)
		m.servers[name] = s
	}
	return s
}

// find returns what is believed about the key; the caller holds the mutex.
func (m *memory) find(id key, s *serverState, now time.Time) *mcp.CallToolResult {
	e, ok := m.entries.Get(id)
	if !ok || s.writing > 0 {
		return nil
	}
	if e.generation != s.generation || !now.Before(e.expires) {
		m.entries.Remove(id)
		return nil
	}
	return e.res
}

// lookup returns a result that may be answered again.
func (m *memory) lookup(id key, server string, now time.Time) (*mcp.CallToolResult, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	res := m.find(id, m.server(server), now)
	return res, res != nil
}

// join returns a known result, or a call on its way that the caller now waits
// for, or a new flight that the caller leads. A caller with more time than the
// flight flies by itself and takes the key over.
func (m *memory) join(ctx context.Context, id key, server string) (res *mcp.CallToolResult, f *flight, leads bool) {
	deadline, _ := ctx.Deadline()
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.server(server)
	if res := m.find(id, s, now); res != nil {
		return res, nil, false
	}
	if f := m.flights[id]; f != nil && f.generation == s.generation && s.writing == 0 && covers(f.deadline, deadline) {
		f.waiting++
		return nil, f, false
	}
	f = &flight{id: id, generation: s.generation, deadline: deadline, done: make(chan struct{}), waiting: 1}
	m.flights[id] = f
	return nil, f, true
}

// covers reports whether a flight that ends at have serves a caller that has
// until want; zero means no end.
func covers(have, want time.Time) bool {
	return have.IsZero() || !want.IsZero() && !have.Before(want)
}

// leave counts one caller out; the last one ends the flight, and nobody joins it
// any more.
func (m *memory) leave(f *flight) {
	m.mu.Lock()
	f.waiting--
	abandoned := f.waiting == 0
	if abandoned && m.flights[f.id] == f {
		delete(m.flights, f.id)
	}
	m.mu.Unlock()
	if abandoned {
		f.cancel()
	}
}

// land ends a flight and wakes its callers.
func (m *memory) land(f *flight) {
	m.mu.Lock()
	if m.flights[f.id] == f {
		delete(m.flights, f.id)
	}
	m.mu.Unlock()
	close(f.done)
}

// store keeps a result that was fetched in the given generation, unless the
// server may have changed since.
func (m *memory) store(id key, server string, fetched generation, res *mcp.CallToolResult, expires time.Time) {
	e := entry{res: res, generation: fetched, expires: expires, size: sizeOf(res)}
	if e.size > m.maxBytes {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.server(server); s.generation != fetched || s.writing > 0 {
		return
	}
	m.entries.Remove(id) // so that a replaced entry is counted out
	m.entries.Add(id, e)
	m.bytes += e.size
	for m.bytes > m.maxBytes {
		m.entries.RemoveOldest()
	}
}

// beginWrite forgets what is known of the server, keeps reads that overlap the
// write from being stored, and returns the generation that begins.
func (m *memory) beginWrite(server string) generation {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.server(server)
	s.generation++
	s.writing++
	return s.generation
}

// endWrite forgets once more and returns the generation that begins.
func (m *memory) endWrite(server string) generation {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.server(server)
	s.generation++
	s.writing--
	return s.generation
}
