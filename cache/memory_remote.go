package cache

import (
	"bytes"
	"context"
	"encoding/binary"
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

// Memory is a [Remote] in this process: for chains that share what they know but
// not their [Store], and as the measure of others. It holds 10,000 values at most.
// The zero value is not ready; use [NewMemory].
type Memory struct {
	mu      sync.Mutex
	now     moment
	servers map[string]*serverState
	writes  map[string]*openWrite
	flights map[key]memoryFlight
	kept    *simplelru.LRU[key, memoryValue]
}

type openWrite struct {
	server string
	names  []entity
	until  time.Time
}

type memoryFlight struct {
	ticket string
	until  time.Time
}

type memoryValue struct {
	value   []byte
	server  string
	names   []entity
	since   moment
	expires time.Time
}

var _ Remote = (*Memory)(nil)

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	kept, err := simplelru.NewLRU[key, memoryValue](10_000, nil)
	if err != nil {
		panic("cache: " + err.Error()) // only for a size below 1
	}
	return &Memory{servers: make(map[string]*serverState), writes: make(map[string]*openWrite), flights: make(map[key]memoryFlight), kept: kept}
}

func entities(names []Name) []entity {
	var list []entity
	for _, n := range names {
		list = append(list, entity(binary.LittleEndian.Uint64(n[:])))
	}
	return list
}

// server returns the state of a server, without the writes whose time is over. The
// caller holds the lock.
func (m *Memory) server(name string) *serverState {
	on := m.servers[name]
	if on == nil {
		on = new(serverState)
		m.servers[name] = on
	}
	if on.busy(nil) {
		now := time.Now()
		for id, w := range m.writes {
			if w.server == name && !now.Before(w.until) {
				m.over(id, w)
			}
		}
	}
	return on
}

// over ends a write.
func (m *Memory) over(id string, w *openWrite) {
	delete(m.writes, id)
	on := m.servers[w.server]
	m.now++
	on.end(w.names)
	on.mark(w.names, m.now)
}

// Look implements [Remote].
func (m *Memory) Look(ctx context.Context, q Question) (Found, error) {
	if ctx.Err() != nil {
		return Found{}, context.Cause(ctx)
	}
	names, now := entities(q.Names), time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	on := m.server(q.Server)
	if on.busy(names) {
		return Found{}, nil
	}
	ticket := strconv.FormatUint(uint64(m.now), 10)
	if v, ok := m.kept.Get(q.ID); ok {
		if now.Before(v.expires) && !on.changed(v.names, v.since) {
			return Found{Value: bytes.Clone(v.value), Ticket: ticket}, nil
		}
		m.kept.Remove(q.ID)
	}
	if f, ok := m.flights[q.ID]; ok && now.Before(f.until) && !on.changed(names, momentOf(f.ticket)) {
		return Found{Ticket: f.ticket, Busy: true}, nil
	}
	m.flights[q.ID] = memoryFlight{ticket, now.Add(flightLease)}
	return Found{Ticket: ticket}, nil
}

func momentOf(ticket string) moment {
	n, err := strconv.ParseUint(ticket, 10, 64)
	if err != nil {
		return 0
	}
	return moment(n)
}

// Keep implements [Remote].
func (m *Memory) Keep(ctx context.Context, q Question, ticket string, value []byte, ttl time.Duration) error {
	m.Drop(ctx, q, ticket)
	names, since := entities(q.Names), momentOf(ticket)
	m.mu.Lock()
	defer m.mu.Unlock()
	if on := m.server(q.Server); ticket == "" || on.changed(names, since) || on.busy(names) {
		return nil
	}
	m.kept.Add(q.ID, memoryValue{bytes.Clone(value), q.Server, names, since, time.Now().Add(ttl)})
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
	until := time.Now().Add(writeLease)
	if !w.Until.IsZero() && w.Until.Before(until) {
		until = w.Until
	}
	open := &openWrite{w.Server, entities(w.Names), until}
	m.mu.Lock()
	defer m.mu.Unlock()
	on := m.server(w.Server)
	m.now++
	on.begin(open.names, m.now)
	m.writes[w.ID] = open
	return nil
}

// End implements [Remote].
func (m *Memory) End(_ context.Context, w Write) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if open := m.writes[w.ID]; open != nil {
		m.over(w.ID, open)
		return nil
	}
	m.now++ // its time was over, or its beginning was lost
	m.server(w.Server).mark(entities(w.Names), m.now)
	return nil
}
