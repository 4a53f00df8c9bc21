package budget

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
