package cache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"strconv"
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
	servers   versions.Servers[Name]
	forgotten atomic.Uint64 // the version when Forget was last called
	writes    atomic.Uint64
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
	all := Stats{Writes: s.writes.Load(), Late: s.late.Load()}
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

// join returns a cached result, or a call in flight that the caller now waits for, or a new flight that the
// caller leads. A caller with more time than the flight makes its own call, which later callers join.
func (s *shard) join(ctx context.Context, id key, server string, names []Name, now time.Duration) (e entry, f *flight, leads bool) {
	deadline, _ := ctx.Deadline()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.find(id, now); ok {
		return e, nil, false
	}
	if f := s.inFlight[id]; f != nil && s.fresh(server, names, f.since) && covers(f.deadline, deadline) {
		f.waiting++
		if f.done == nil {
			f.done = make(chan struct{})
		}
		s.stats.Joined++
		return entry{}, f, false
	}
	s.stats.Misses++
	f = &flight{id: id, names: names, since: s.servers.Request(server, names), deadline: deadline, waiting: 1}
	if ctx.Done() != nil { // the leader will wait, too
		f.done = make(chan struct{})
	}
	s.inFlight[id] = f
	return entry{}, f, true
}

// fresh reports whether what was requested at a version still holds: nothing that
// it is about was written to or forgotten since.
func (s *Store) fresh(server string, names []Name, since versions.Version) bool {
	return uint64(since) >= s.forgotten.Load() && !s.servers.Changed(server, names, since)
}

// covers reports whether a flight that ends at have serves a caller that has until want; zero means no end.
func covers(have, want time.Time) bool {
	return have.IsZero() || !want.IsZero() && !have.Before(want)
}

// leave records that one caller no longer waits. When the last one leaves, the
// flight is cancelled, and no later read joins it.
func (s *shard) leave(f *flight) {
	s.mu.Lock()
	f.waiting--
	abandoned := f.waiting == 0
	if abandoned && s.inFlight[f.id] == f {
		delete(s.inFlight, f.id)
	}
	s.mu.Unlock()
	if abandoned {
		f.cancel()
	}
}

func (s *shard) land(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[f.id] == f {
		delete(s.inFlight, f.id)
	}
	if f.done != nil { // no later read joins
		close(f.done)
	}
}

// store caches a result, unless what it is about may have changed since it was requested.
func (s *shard) store(id key, e entry) {
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
	for now := s.clock(); s.full(e.size); {
		if s.evict(now) {
			s.stats.Evicted++
		}
	}
	s.list.Add(id, e)
	s.account(e, 1)
}

// The leases of a write and a flight, in case their caller has died.
const (
	writeLease  = 10 * time.Minute
	flightLease = 30 * time.Second
)

// Memory is a [Remote] in this process: for chains that share cached results but not their [Store], and as the
// measure of others. It holds 10,000 values at most. The zero value is not ready; use [NewMemory].
type Memory struct {
	mu      sync.Mutex // guards what follows
	servers versions.Servers[Name]
	writes  map[string]Write // those in flight, Until the end of the lease
	values  *simplelru.LRU[digest, memoryValue]
}

// A memoryValue is a value, or the flight that fetches it.
type memoryValue struct {
	value []byte // nil for a flight
	names []Name
	since versions.Version
	until time.Time
}

var _ Remote = (*Memory)(nil)

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	values, _ := simplelru.NewLRU[digest, memoryValue](10_000, nil) // its one error is a size below 1
	return &Memory{writes: make(map[string]Write), values: values}
}

// endExpired ends the writes with an expired lease. The caller holds the lock.
func (m *Memory) endExpired(now time.Time) {
	for _, w := range m.writes {
		if !now.Before(w.Until) {
			m.end(w)
		}
	}
}

// end ends a write, even if its beginning was lost or its lease has expired. It
// reports whether no other overlapped it.
func (m *Memory) end(w Write) (alone bool) {
	if open, ok := m.writes[w.ID]; ok {
		delete(m.writes, w.ID)
		m.servers.End(w.Server, open.Names)
		alone = !m.servers.Changed(w.Server, open.Names, open.since)
	}
	m.servers.Mark(w.Server, w.Names)
	return alone
}

func (m *Memory) Look(ctx context.Context, q Question) (Found, error) {
	if ctx.Err() != nil {
		return Found{}, context.Cause(ctx)
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endExpired(now)
	if m.servers.Busy(q.Server, q.Names) {
		return Found{}, nil
	}
	if v, ok := m.values.Get(q.ID); ok && now.Before(v.until) && !m.servers.Changed(q.Server, v.names, v.since) {
		return Found{Value: bytes.Clone(v.value), Ticket: ticketOf(v.since), Busy: v.value == nil}, nil
	}
	m.values.Add(q.ID, memoryValue{nil, q.Names, m.servers.Now(), now.Add(flightLease)})
	return Found{Ticket: ticketOf(m.servers.Now())}, nil
}

func ticketOf(v versions.Version) string { return strconv.FormatUint(uint64(v), 10) }

func versionOf(ticket string) versions.Version {
	n, err := strconv.ParseUint(ticket, 10, 64)
	if err != nil {
		return 0
	}
	return versions.Version(n)
}

func (m *Memory) Keep(ctx context.Context, q Question, ticket string, value []byte, ttl time.Duration) error {
	m.Drop(ctx, q, ticket)
	since, now := versionOf(ticket), time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endExpired(now)
	if ticket == "" || m.servers.Changed(q.Server, q.Names, since) || m.servers.Busy(q.Server, q.Names) {
		return nil
	}
	m.values.Add(q.ID, memoryValue{bytes.Clone(value), q.Names, since, now.Add(ttl)})
	return nil
}

func (m *Memory) Drop(_ context.Context, q Question, ticket string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values.Peek(q.ID); ok && v.value == nil && ticketOf(v.since) == ticket {
		m.values.Remove(q.ID)
	}
}

func (m *Memory) Begin(_ context.Context, w Write) error {
	now := time.Now()
	if lease := now.Add(writeLease); w.Until.IsZero() || lease.Before(w.Until) {
		w.Until = lease
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endExpired(now)
	w.since = m.servers.Begin(w.Server, w.Names)
	m.writes[w.ID] = w
	return nil
}

func (m *Memory) End(_ context.Context, w Write) (ticket string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end(w) {
		ticket = ticketOf(m.servers.Now())
	}
	return ticket, nil
}

// A key is the first half of the digest that identifies a read. It is as long as a
// UUID, and a store may hold a million of them.
type key [sha256.Size / 2]byte

type entry struct {
	res     *mcp.CallToolResult
	tool    *middleware.Tool
	names   []Name           // what it is about; none for a list
	since   versions.Version // when it was requested
	at      time.Duration    // when it was returned, by the store's clock
	expires time.Duration    // likewise
	size    int64
	slow    bool // took long to get
}

// valid reports whether an entry may still be used. A write in flight needs no look: it changed the server
// when it began, and no result that is requested before it returns is cached (see Servers.Request).
func (s *shard) valid(e *entry, now time.Duration) bool {
	return now < e.expires && !s.servers.Changed(e.tool.Server, e.names, e.since)
}

func (s *shard) account(e entry, by int) {
	s.bytes += int64(by) * e.size
	if e.slow {
		s.slow += by
	}
}

func (s *shard) full(size int64) bool {
	return s.list.Len() >= s.maxEntries || s.bytes+size > s.maxBytes
}

const lookAt = 8

// evict removes one of the oldest entries. It passes over results of slow tools, which take long to get again,
// unless they are more than four fifths of all: then it passes over the others, so that a new read always finds
// a place. The entries that it passes over become the newest. An invalid entry is removed at once, and is not
// reported as evicted.
func (s *shard) evict(now time.Duration) (evicted bool) {
	wantSlow := s.slow*5 > s.list.Len()*4
	for most := min(lookAt, s.list.Len()); ; most-- {
		id, e, _ := s.list.GetOldest()
		if valid := s.valid(&e, now); !valid || e.slow == wantSlow || most == 1 {
			s.list.Remove(id)
			return valid
		}
		s.list.Get(id)
	}
}

const (
	hotSlots = 2048
	hotBytes = 2 << 10 // longer arguments are compared by their digest
)

// hot recognizes repeated calls by the bytes of their arguments, so that a hit needs neither the canonical form
// nor the store's lock. The questions take at most 4 MiB. The results are those of the store. They end with the
// next write to any server, and are dropped as soon as the store forgets or evicts a result.
//
// Slots and answers are read without a lock. Answers are written under the mutex of the
// shard that has the result, or taken from a question that has lost its slot.
type hot struct {
	seed  maphash.Seed
	slots [hotSlots]slot
}

// A slot holds one of the questions that have the same hash, modulo the slots.
type slot struct {
	question atomic.Pointer[question]
	seen     atomic.Uint64 // hash of the last hit that was not the question
}

type question struct {
	hash          uint64
	scope, server string
	definition    middleware.Digest // covers the tool's name
	raw           []byte            // nil if it is long
	sum           [sha256.Size]byte // of long arguments
	id            digest

	answer atomic.Pointer[answer]
	hits   atomic.Uint64 // since it has this answer

	_ [72]byte // fills 256 bytes: two cores that count hits share no cache line
}

type answer struct {
	res         *mcp.CallToolResult
	at, expires time.Duration // by the store's clock
	as          versions.Version
}

type place struct {
	slot     *slot
	hash     uint64
	question *question // nil if it is not there
}

func (h *hot) of(call *middleware.Call) place {
	begin := call.Arguments[:min(len(call.Arguments), hotBytes)]
	hash := maphash.Bytes(h.seed, begin) ^ binary.LittleEndian.Uint64(call.Tool.Digest[:])
	hash ^= bits.RotateLeft64(maphash.String(h.seed, call.Tool.Server), 21)
	if call.Scope != "" {
		hash ^= bits.RotateLeft64(maphash.String(h.seed, call.Scope), 42)
	}
	at := place{slot: &h.slots[hash%hotSlots], hash: hash}
	if q := at.slot.question.Load(); q != nil && q.hash == hash && q.asks(call) {
		at.question = q
	}
	return at
}

func (q *question) asks(call *middleware.Call) bool {
	if q.definition != call.Tool.Digest || q.server != call.Tool.Server || q.scope != call.Scope {
		return false
	}
	if len(call.Arguments) > hotBytes {
		return q.raw == nil && q.sum == sha256.Sum256(call.Arguments)
	}
	return q.raw != nil && bytes.Equal(q.raw, call.Arguments)
}

func newQuestion(hash uint64, call *middleware.Call, id digest) *question {
	q := &question{hash: hash, scope: call.Scope, server: call.Tool.Server, definition: call.Tool.Digest, id: id}
	if len(call.Arguments) > hotBytes {
		q.sum = sha256.Sum256(call.Arguments)
	} else {
		q.raw = append(make([]byte, 0, len(call.Arguments)), call.Arguments...)
	}
	return q
}

// result returns the answer to the question, nil if the store has to be asked, and when it was returned.
func (q *question) result(now time.Duration, as versions.Version) (res *mcp.CallToolResult, at time.Duration) {
	if a := q.answer.Load(); a != nil && now < a.expires && a.as == as {
		q.hits.Add(1)
		return a.res, a.at
	}
	return nil, 0
}

// warm keeps an answer that was just found with its question, from the second hit on: most calls are not
// repeated in the same bytes. The caller holds the shard's mutex.
func (s *shard) warm(at place, call *middleware.Call, id digest, a answer) {
	q := at.question
	if q == nil {
		if at.slot.seen.Swap(at.hash) != at.hash {
			return
		}
		q = newQuestion(at.hash, call, id)
		if old := at.slot.question.Swap(q); old != nil {
			old.answer.Store(nil) // its hits are counted by its own shard
		}
	}
	if len(s.filled) >= hotSlots { // some have lost their slot
		s.coolAll()
	}
	if kept := a; q.answer.Swap(&kept) == nil {
		s.filled = append(s.filled, q)
	}
}

func (s *shard) cool(q *question) {
	q.answer.Store(nil)
	s.count(q)
}

// count adds up the hits of a question, which make its entry the newest.
func (s *shard) count(q *question) {
	if hits := q.hits.Swap(0); hits > 0 {
		s.stats.Hits += hits
		s.list.Get(q.id.key())
	}
}

// coolAll drops all answers: every later hit needs the mutex, which the caller holds.
func (s *shard) coolAll() {
	for _, q := range s.filled {
		s.cool(q)
	}
	clear(s.filled)
	s.filled = s.filled[:0]
}
