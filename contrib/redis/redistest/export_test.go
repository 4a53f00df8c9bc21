package engine

// NextPort is the port that the next engine has, where nobody else has it.
func NextPort() int { return portOf(given.Load() + 1) }
