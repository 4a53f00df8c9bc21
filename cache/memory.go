package cache

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// The leases of a write and a flight, in case their caller has died.
const (
	writeLease  = 10 * time.Minute
	flightLease = 30 * time.Second
)

// A memory is a Remote in this process.
type memory struct {
	mu      sync.Mutex // guards what follows
	servers versions.Servers[EntityKey]
	writes  map[string]openWrite
	values  *simplelru.LRU[digest, memoryValue]
}

// An openWrite is one in flight, Until the end of its lease.
type openWrite struct {
	Write

	inFlight versions.Write[EntityKey]
}

// A memoryValue is a value, or the flight that fetches it.
type memoryValue struct {
	value []byte // nil for a flight
	names []EntityKey
	since versions.Version
	until time.Time
}

// NewMemory returns a remote cache in this process, for chains that share cached results but not their [Store], and
// for the tests of a host. It holds at most 10,000 values.
func NewMemory() Remote {
	values, _ := simplelru.NewLRU[digest, memoryValue](10_000, nil) // its one error is a size below 1
	return &memory{writes: make(map[string]openWrite), values: values}
}

// endExpired ends the writes with an expired lease. The caller holds the lock.
func (m *memory) endExpired(now time.Time) {
	for _, w := range m.writes {
		if !now.Before(w.Until) {
			m.end(w.Write)
		}
	}
}

// end ends a write, even if its beginning was lost or its lease has expired. It
// reports whether no other overlapped it.
func (m *memory) end(w Write) (alone bool) {
	if open, ok := m.writes[w.ID]; ok {
		delete(m.writes, w.ID)
		open.inFlight.End()
		alone = !m.servers.Changed(w.Server, open.Entities, open.inFlight.Since)
	}
	m.servers.Mark(w.Server, w.Entities)
	return alone
}

// Look is that of [Remote]. The caller that is to lead has 30 seconds; then another one leads.
func (m *memory) Look(ctx context.Context, q Read) (Lookup, error) {
	if ctx.Err() != nil {
		return Lookup{}, context.Cause(ctx)
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endExpired(now)
	if m.servers.Busy(q.Server, q.Entities) {
		return Lookup{}, nil
	}
	if v, ok := m.values.Get(q.ID); ok && now.Before(v.until) && !m.servers.Changed(q.Server, v.names, v.since) {
		return Lookup{Value: bytes.Clone(v.value), Ticket: ticketOf(v.since), Busy: v.value == nil}, nil
	}
	m.values.Add(q.ID, memoryValue{nil, q.Entities, m.servers.Now(), now.Add(flightLease)})
	return Lookup{Ticket: ticketOf(m.servers.Now())}, nil
}

func ticketOf(v versions.Version) string { return strconv.FormatUint(uint64(v), 10) }

func versionOf(ticket string) versions.Version {
	n, err := strconv.ParseUint(ticket, 10, 64)
	if err != nil {
		return 0
	}
	return versions.Version(n)
}

// Keep is that of [Remote].
func (m *memory) Keep(ctx context.Context, q Read, ticket string, value []byte, ttl time.Duration) error {
	m.Drop(ctx, q, ticket)
	since, now := versionOf(ticket), time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endExpired(now)
	if ticket == "" || m.servers.Changed(q.Server, q.Entities, since) || m.servers.Busy(q.Server, q.Entities) {
		return nil
	}
	m.values.Add(q.ID, memoryValue{bytes.Clone(value), q.Entities, since, now.Add(ttl)})
	return nil
}

// Drop is that of [Remote].
func (m *memory) Drop(_ context.Context, q Read, ticket string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values.Peek(q.ID); ok && v.value == nil && ticketOf(v.since) == ticket {
		m.values.Remove(q.ID)
	}
}

// Begin is that of [Remote]. A write that is not ended counts for 10 minutes.
func (m *memory) Begin(_ context.Context, w Write) error {
	now := time.Now()
	if lease := now.Add(writeLease); w.Until.IsZero() || lease.Before(w.Until) {
		w.Until = lease
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endExpired(now)
	m.writes[w.ID] = openWrite{w, m.servers.Begin(w.Server, w.Entities)}
	return nil
}

// End is that of [Remote].
func (m *memory) End(_ context.Context, w Write) (ticket string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end(w) {
		ticket = ticketOf(m.servers.Now())
	}
	return ticket, nil
}
