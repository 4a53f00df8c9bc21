package chain

// Order returns the names of the slots, outermost first.
func Order() []string {
	names := make([]string, len(slots))
	for i, slot := range slots {
		names[i] = slot.name
	}
	return names
}

// Kinds returns the kinds of what a chain is made of, outermost first.
var Kinds = kinds
