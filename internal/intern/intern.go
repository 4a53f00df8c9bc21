// Package intern keeps equal values of a process once. A process may have a catalog for each of many sessions with the
// same servers, and what these hold of a tool is mostly equal.
package intern

import (
	"runtime"
	"sync"
	"weak"
)

// A Set holds at most one value for a key, for as long as the value is in use elsewhere. The zero value is empty. It is safe
// for concurrent use.
type Set[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]weak.Pointer[V]
}

// Share returns the value that the set has for the key, if that is equal to v. Otherwise the set has v from now on, and
// Share returns v. Both are read-only afterwards. Equal must not use the set.
func (s *Set[K, V]) Share(key K, v *V, equal func(there, v *V) bool) *V {
	s.mu.Lock()
	there := s.all[key].Value()
	s.mu.Unlock()
	if there == v || there != nil && equal(there, v) {
		return there
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[K]weak.Pointer[V])
	}
	s.all[key] = weak.Make(v)
	runtime.AddCleanup(v, s.unused, key)
	return v
}

// unused removes a value that is not in use any more.
func (s *Set[K, V]) unused(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[key].Value() == nil { // or another one has come meanwhile
		delete(s.all, key)
	}
}
