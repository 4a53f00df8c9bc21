package doubt

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Store keeps calls in doubt for the replicas of a host, so that a call which one of them has made is held at each.
// It is safe for concurrent use, bounds the time of each method, and forgets an entry at its Until. NewMemory is one
// for the chains of a process; contrib/redis and contrib/postgres have others, and storetest.Run checks them.
type Store interface {
	// Put keeps an entry, and replaces the one with the same Key, Scope, Server and Tool.
	Put(ctx context.Context, entry Entry) error
	// Find returns the entries of a scope and a tool, the oldest first. An entry that cannot be read is returned
	// without an Effect.
	Find(ctx context.Context, scope, server, tool string) ([]Entry, error)
	// Tell sets Told for an entry, and reports whether it was kept and not told before: once, whichever replica asks.
	Tell(ctx context.Context, entry Entry) (first bool, err error)
	// Remove removes an entry, and reports whether it was kept: once, whichever replica asks.
	Remove(ctx context.Context, entry Entry) (was bool, err error)
}

// An Entry is a call that may have happened, as a [Store] keeps it.
type Entry struct {
	Call

	Key     string    // unguessable, and unique
	Effect  string    // equal for calls of one tool with the same effect; "" means that it is unknown, so that any call may be the same
	Read    string    // the tool that shows whether it has happened, as "server/tool"; "" if none is known
	Replica string    // that is making the call; "" if its outcome is unknown
	Told    bool      // a repetition was held
	Until   time.Time // when it is not in doubt any more
}

// maxEntries is how many entries of one scope and tool a Memory keeps; the oldest is dropped for the next.
const maxEntries = 1000

// A Memory is a Store in this process, for several chains. The zero value is not ready; use [NewMemory].
type Memory struct {
	mu  sync.Mutex
	all map[place][]Entry // by time
}

type place struct{ scope, server, tool string }

func (e *Entry) place() place { return place{e.Scope, e.Server, e.Tool} }

// NewMemory returns an empty store in memory.
func NewMemory() *Memory { return &Memory{all: make(map[place][]Entry)} }

// at returns the entries of a place that have not expired, and the index of one of them, -1 for none. The lock is held.
func (m *Memory) at(p place, key string) ([]Entry, int) {
	all := slices.DeleteFunc(m.all[p], func(e Entry) bool { return !time.Now().Before(e.Until) })
	if len(all) == 0 {
		delete(m.all, p)
	} else {
		m.all[p] = all
	}
	return all, slices.IndexFunc(all, func(e Entry) bool { return e.Key == key })
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, entry Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, i := m.at(entry.place(), entry.Key)
	if i >= 0 {
		entry.Told = entry.Told || all[i].Told
		all = slices.Delete(all, i, i+1)
	}
	at, _ := slices.BinarySearchFunc(all, entry.Time, func(e Entry, t time.Time) int { return e.Time.Compare(t) })
	all = slices.Insert(all, at, entry)
	m.all[entry.place()] = all[max(0, len(all)-maxEntries):]
	return nil
}

// Find implements [Store].
func (m *Memory) Find(_ context.Context, scope, server, tool string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, _ := m.at(place{scope, server, tool}, "")
	return slices.Clone(all), nil
}

// Tell implements [Store].
func (m *Memory) Tell(_ context.Context, entry Entry) (first bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, i := m.at(entry.place(), entry.Key)
	if i < 0 || all[i].Told {
		return false, nil
	}
	all[i].Told = true
	return true, nil
}

// Remove implements [Store].
func (m *Memory) Remove(_ context.Context, entry Entry) (was bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, i := m.at(entry.place(), entry.Key)
	if i < 0 {
		return false, nil
	}
	if m.all[entry.place()] = slices.Delete(all, i, i+1); len(all) == 1 {
		delete(m.all, entry.place())
	}
	return true, nil
}

var _ Store = (*Memory)(nil)
