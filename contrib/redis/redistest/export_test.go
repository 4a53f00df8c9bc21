package redistest

// NextPort returns the port that New tries next.
func NextPort() int { return portOf(given.Load() + 1) }
