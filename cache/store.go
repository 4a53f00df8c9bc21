package cache

import (
	"cmp"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// StoreOptions are the bounds of a [Store]. The zero value is ready.
type StoreOptions struct {
	// Entries is how many results are kept; 0 means 1,000. From 2,000 on the store has up to
	// 32 parts, by key, so that misses use all cores. Each evicts its own results.
	Entries int
	// Bytes is how much memory the results may take, as measured by their text and data; 0 means 64 MiB. A
	// result that is larger than this, or than the share of a part, which is at least 2 MiB, is not kept.
	Bytes int64
}

// A Store holds cached results, the reads in flight, and the versions of what was written to each server. A
// host that wants to read its statistics, or to drop results, makes one and passes it in as [Options.Store].
// Chains that share a store see each other's writes and answer each other's reads, so the same server id must
// mean the same server in all of them.
//
// It is safe for concurrent use, and needs no closing. The zero value is not ready; use [NewStore].
type Store struct {
	born      time.Time
	servers   versions.Servers[EntityKey]
	forgotten atomic.Uint64 // the version when Forget was last called
	late      atomic.Uint64
	hot       *hot
	shards    []*shard // each has the results of some keys
}

// A shard has part of the keys.
type shard struct {
	*Store
	maxEntries int
	maxBytes   int64

	mu       sync.Mutex // guards what follows, and parts of hot as documented there; never held across a call
	list     *simplelru.LRU[key, entry]
	bytes    int64
	slow     int // entries of slow tools
	inFlight map[key]*flight
	filled   []*question // those that have an answer
	stats    Stats

	_ [64]byte // two cores that use two shards share no cache line
}

func (s *Store) of(id key) *shard { return s.shards[int(id[0])%len(s.shards)] }

// Stats counts what a [Store] did since it was made.
type Stats struct {
	Hits    uint64 // reads answered from the cache
	Joined  uint64 // reads that waited for another's call
	Misses  uint64 // reads that made the call
	Writes  uint64 // calls that invalidated what they may have changed
	Ended   uint64 // results found to be expired or stale when requested again
	Evicted uint64 // valid results that were removed for others
	Entries int    // results that are cached now
	Bytes   int64  // and the memory that they take
	Late    uint64 // operations of [Options.Remote] that were given up
}

// NewStore returns an empty store. It panics on a negative number.
func NewStore(o StoreOptions) *Store {
	fault.RefuseNegative("cache: StoreOptions", o)
	entries, bytes := cmp.Or(o.Entries, defaultEntries), cmp.Or(o.Bytes, defaultBytes)
	s := &Store{born: time.Now(), hot: &hot{seed: maphash.MakeSeed()}}
	n := 1
	if entries >= 2000 {
		n = int(max(1, min(32, int64(entries/250), bytes>>21)))
	}
	for range n {
		one := &shard{Store: s, maxEntries: entries / n, maxBytes: bytes / int64(n), inFlight: make(map[key]*flight)}
		one.list, _ = simplelru.NewLRU(one.maxEntries, func(_ key, e entry) { one.account(e, -1) }) // its one error is a size below 1
		s.shards = append(s.shards, one)
	}
	return s
}

func (s *Store) clock() time.Duration { return time.Since(s.born) }

// Stats returns the counts as of now.
func (s *Store) Stats() Stats {
	all := Stats{Writes: s.servers.Writes(), Late: s.late.Load()}
	for _, one := range s.shards {
		one.mu.Lock()
		for _, q := range one.filled {
			one.count(q)
		}
		all.Hits += one.stats.Hits
		all.Joined += one.stats.Joined
		all.Misses += one.stats.Misses
		all.Ended += one.stats.Ended
		all.Evicted += one.stats.Evicted
		all.Entries += one.list.Len()
		all.Bytes += one.bytes
		one.mu.Unlock()
	}
	return all
}

// Forget drops the results of every tool that matches, of every scope, and returns how many they were. In both
// patterns * matches any text, so that ("files", "read") is one tool, ("files", "*") a server, ("*",
// "list_*") a kind of tool and ("*", "*") everything. A read that is in flight meanwhile is answered but not
// cached, and no later read joins it.
func (s *Store) Forget(server, tool string) (forgotten int) {
	s.forgotten.Store(uint64(s.servers.Raise()))
	for _, one := range s.shards {
		one.mu.Lock()
		one.coolAll()
		for _, id := range one.list.Keys() {
			if e, _ := one.list.Peek(id); toolname.Match(server, e.tool.Server) && toolname.Match(tool, e.tool.Name()) {
				one.list.Remove(id)
				forgotten++
			}
		}
		one.mu.Unlock()
	}
	return forgotten
}

// find returns the valid entry of a key. The caller holds the mutex.
func (s *shard) find(id key, now time.Duration) (e entry, ok bool) {
	if e, ok = s.list.Get(id); !ok {
		return entry{}, false
	}
	if !s.valid(&e, now) {
		s.coolAll()
		s.list.Remove(id)
		s.stats.Ended++
		return entry{}, false
	}
	s.stats.Hits++
	return e, true
}

func (s *shard) lookup(at place, call *middleware.Call, id digest, now time.Duration) (*mcp.CallToolResult, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	as := s.servers.Now() // first: what is written from here on ends the answer
	e, ok := s.find(id.key(), now)
	if ok {
		s.warm(at, call, id, answer{e.res, e.at, e.expires, as})
	}
	return e.res, e.at
}

// store caches a result, unless what it is about may have changed since it was requested.
func (s *shard) store(id key, e entry, now time.Duration) {
	if e.size > s.maxBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh(e.tool.Server, e.names, e.since) {
		return
	}
	if s.list.Contains(id) || s.full(e.size) {
		s.coolAll() // which entries were used counts when one has to go
		s.list.Remove(id)
	}
	for s.full(e.size) {
		if s.evict(now) {
			s.stats.Evicted++
		}
	}
	s.list.Add(id, e)
	s.account(e, 1)
}
