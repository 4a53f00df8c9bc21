package cache

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// How long a write or a flight counts whose caller may have died.
const (
	writeLease  = 10 * time.Minute
	flightLease = 30 * time.Second
)

// Memory is a [Remote] in this process: for chains that share cached results but not
// their [Store], and as the measure of others. It holds 10,000 values at most.
// The zero value is not ready; use [NewMemory].
type Memory struct {
	mu      sync.Mutex // guards what follows
	servers servers
	writes  map[string]openWrite
	flights map[digest]memoryFlight
	kept    *simplelru.LRU[digest, memoryValue]
}

// An openWrite is a write in flight.
type openWrite struct {
	Write

	until time.Time
}

type memoryFlight struct {
	ticket string
	until  time.Time
}

type memoryValue struct {
	value   []byte
	names   []Name
	since   version
	expires time.Time
}

var _ Remote = (*Memory)(nil)

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{
		servers: servers{byName: make(map[string]*server)},
		writes:  make(map[string]openWrite),
		flights: make(map[digest]memoryFlight),
		kept:    newLRU[digest, memoryValue](10_000, nil),
	}
}

// server returns the state of a server, without the writes whose lease is over. The
// caller holds the lock.
func (m *Memory) server(name string) *server {
	on := m.servers.of(name)
	if on.busy(nil) {
		now := time.Now()
		for _, w := range m.writes {
			if w.Server == name && !now.Before(w.until) {
				m.end(w.Write)
			}
		}
	}
	return on
}

// end ends a write, also one whose beginning was lost or whose lease was over.
func (m *Memory) end(w Write) {
	on := m.servers.of(w.Server)
	if open, ok := m.writes[w.ID]; ok {
		delete(m.writes, w.ID)
		on.end(open.Names)
	}
	m.servers.now++
	on.mark(w.Names, m.servers.now)
}

// Look implements [Remote].
func (m *Memory) Look(ctx context.Context, q Question) (Found, error) {
	if ctx.Err() != nil {
		return Found{}, context.Cause(ctx)
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	on := m.server(q.Server)
	if on.busy(q.Names) {
		return Found{}, nil
	}
	ticket := strconv.FormatUint(uint64(m.servers.now), 10)
	if v, ok := m.kept.Get(q.ID); ok {
		if now.Before(v.expires) && !on.changed(v.names, v.since) {
			return Found{Value: bytes.Clone(v.value), Ticket: ticket}, nil
		}
		m.kept.Remove(q.ID)
	}
	if f, ok := m.flights[q.ID]; ok && now.Before(f.until) && !on.changed(q.Names, versionOf(f.ticket)) {
		return Found{Ticket: f.ticket, Busy: true}, nil
	}
	m.flights[q.ID] = memoryFlight{ticket, now.Add(flightLease)}
	return Found{Ticket: ticket}, nil
}

func versionOf(ticket string) version {
	n, err := strconv.ParseUint(ticket, 10, 64)
	if err != nil {
		return 0
	}
	return version(n)
}

// Keep implements [Remote].
func (m *Memory) Keep(ctx context.Context, q Question, ticket string, value []byte, ttl time.Duration) error {
	m.Drop(ctx, q, ticket)
	since := versionOf(ticket)
	m.mu.Lock()
	defer m.mu.Unlock()
	if on := m.server(q.Server); ticket == "" || on.changed(q.Names, since) || on.busy(q.Names) {
		return nil
	}
	m.kept.Add(q.ID, memoryValue{bytes.Clone(value), q.Names, since, time.Now().Add(ttl)})
	return nil
}

// Drop implements [Remote].
func (m *Memory) Drop(_ context.Context, q Question, ticket string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flights[q.ID].ticket == ticket {
		delete(m.flights, q.ID)
	}
}

// Begin implements [Remote].
func (m *Memory) Begin(_ context.Context, w Write) error {
	open := openWrite{w, time.Now().Add(writeLease)}
	if !w.Until.IsZero() && w.Until.Before(open.until) {
		open.until = w.Until
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	on := m.server(w.Server)
	m.servers.now++
	on.begin(w.Names, m.servers.now)
	m.writes[w.ID] = open
	return nil
}

// End implements [Remote].
func (m *Memory) End(_ context.Context, w Write) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end(w)
	return nil
}
