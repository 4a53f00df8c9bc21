package policy

// Failures is how often a changed file could not be used.
func (l *Live) Failures() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures
}
