package budget

// NewLedgerOf returns a ledger with room for so many sessions.
func NewLedgerOf(sessions int) *Ledger { return newLedger(sessions) }
