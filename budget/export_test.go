package budget

import "unsafe"

// NewLedgerOf returns a ledger with room for so many sessions.
func NewLedgerOf(sessions int) *Ledger { return newLedger(sessions) }

// ForgetDuring forgets the session of a scope while something that has found it waits
// for it.
func (l *Ledger) ForgetDuring(scope string, waits func()) {
	s, _ := l.sessions.Peek(scope)
	s.mu.Lock()
	defer s.mu.Unlock()
	waits()
	s.gone = true
	l.sessions.Remove(scope)
}

// Spellings remembers calls, and says which it knows and means rightly.
func Spellings(of ...uint64) func(uint64) bool {
	var l spellings
	for _, as := range of {
		l.store(as, ^as)
	}
	return func(as uint64) bool {
		call, ok := l.load(as)
		return ok && call == ^as
	}
}

// SessionLines returns the first and the last cache line of each of some new sessions.
func SessionLines() [][2]uintptr {
	all, lines := make([]*session, 100), make([][2]uintptr, 100)
	for i := range all {
		all[i] = new(session)
		at := uintptr(unsafe.Pointer(all[i]))
		lines[i] = [2]uintptr{at / 64, (at + unsafe.Sizeof(*all[i]) - 1) / 64}
	}
	return lines
}
