package redis

import (
	"context"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Leads holds the flights that this process leads.
type leads struct {
	tickets sync.Map  // by the flight's key
	next    time.Time // of their renewal; only watch uses it
}

// renewLeads renews the leads of this process when that is due, and drops those that it cannot renew.
func (s *Store) renewLeads(ctx context.Context) {
	now := time.Now()
	if now.Before(s.leads.next) {
		return
	}
	s.leads.next = now.Add(renewEvery)
	var flights []string
	for flight := range s.leads.tickets.Range {
		flights = append(flights, flight.(string))
	}
	_ = together(ctx, s, flights, func(pipe goredis.Pipeliner, flight string) *goredis.Cmd {
		ticket, _ := s.leads.tickets.Load(flight)
		return renew.Eval(ctx, pipe, []string{flight}, ticket, flightLease.Milliseconds())
	}, func(string) {})
}
