package budget

import "unsafe"

// SessionSize is how many bytes a session has.
const SessionSize = unsafe.Sizeof(session{})

// NewLedgerOf returns a ledger with room for so many sessions.
func NewLedgerOf(sessions int) *Ledger { return newLedger(sessions) }
