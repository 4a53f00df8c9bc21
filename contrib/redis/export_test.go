package redis

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
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

// Revocations returns how many the store has seen in this era.
func (s *Store) Revocations() int64 {
	h, _ := s.revoked.seen("")
	return h.Count
}

// RememberAsBefore stores a remembered approval as earlier versions did, and returns its key.
func (s *Store) RememberAsBefore(ctx context.Context, y approvals.Standing) string {
	place := s.key("s", s.seal.name("standing", y.Scope))
	form, _ := json.Marshal(y)
	sealed, _ := s.seal.seal(nil, place+"/"+y.ID, form)
	run, _ := pulse.Run(ctx, s.client, nil).Text()
	s.client.HSet(ctx, place, y.ID, run+string(sealed))
	s.client.Expire(ctx, place, time.Hour)
	return place
}
