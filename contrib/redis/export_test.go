package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"
)

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

// Home returns the address of the master of a server's keys in a cluster.
func (s *Store) Home(ctx context.Context, server string) string {
	node, err := s.client.(*goredis.ClusterClient).MasterForKey(ctx, remote{s}.home(server))
	if err != nil {
		return err.Error()
	}
	return node.Options().Addr
}
