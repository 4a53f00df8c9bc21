package chain

// Order returns the names of the slots, outermost first.
func Order() []string {
	names := make([]string, len(slots))
	for i, slot := range slots {
		names[i] = slot.name
	}
	return names
}
