package redis

// Believes makes the store trust tokens with a run's id.
func (s *Store) Believes(run string) {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	s.runs.at["before"] = run
	known := map[string]bool{run: true}
	s.runs.known.Store(&known)
}

// Live reports whether the run is trusted now.
func (s *Store) Live(run string) bool { return s.runs.live(run + "token") }
