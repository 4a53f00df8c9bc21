package redis

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// A replica has seen every write of the others while Redis takes its heartbeats. While Redis does
// not, a write that could not be announced ends only when each of the others must have noticed that
// it is cut off; they use the cache again only after that write's replica has announced it.
const (
	beat = 100 * time.Millisecond // between two heartbeats
	// silence is the time without a heartbeat after which nothing of Redis counts. A longer Timeout does
	// not extend it: a late answer is a miss, and every write of an outage waits for it.
	silence = time.Second
)

// pulse is a heartbeat: a script that may write, so that a read-only Redis refuses it.
var pulse = script("pulse")

// errGone is the error of operations while Redis is gone.
var errGone error = goneError{}

// A goneError is the error of an operation that was not tried, since Redis does not answer.
type goneError struct{}

func (goneError) Error() string { return "redis: no answer; calls go on without it until it is back" }

// Unavailable reports that it is an outage, for metrics.
func (goneError) Unavailable() bool { return true }

// Contacts holds a contact for each master of a cluster, by its address, or the one of a server alone at "".
type contacts struct {
	grace  time.Duration // after the last heartbeat, until all others have noticed
	settle time.Duration // after it came back, until all others have noticed; the cache is not used
	doubts chan struct{}

	mu sync.Mutex
	of map[string]*contact
}

func newContacts(timeout time.Duration) *contacts {
	notice := beat + timeout
	return &contacts{grace: silence + notice + 100*time.Millisecond, settle: notice + 150*time.Millisecond, doubts: make(chan struct{}, 1), of: make(map[string]*contact)}
}

// at returns the contact with a master. A new one is not used before its first heartbeat has settled.
func (all *contacts) at(address string) *contact {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.of[address]
	if c == nil {
		c = &contact{contacts: all, last: time.Now()}
		all.of[address] = c
	}
	return c
}

// keep drops the contacts with all but these masters, and reports whether there were others.
func (all *contacts) keep(masters map[string]error) (others bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for address := range all.of {
		if _, ok := masters[address]; !ok {
			delete(all.of, address)
			others = true
		}
	}
	return others
}

// A contact tracks whether a Redis takes heartbeats. Other answers may be those of a read-only Redis.
type contact struct {
	*contacts

	mu       sync.Mutex
	last     time.Time // of the last heartbeat; before the first, when it was made
	believed time.Time // from when on the cache is used
	run      string    // of the last heartbeat, "" before the first
	down     bool
}

// begin makes the first heartbeat of a master that is there when the store is opened count at once: nothing was used
// before it.
func (c *contact) begin(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.down {
		c.last, c.believed = now, time.Time{}
	}
}

// heard takes what became of a heartbeat at once, since others may be late, and returns the run of the last one.
func (c *contact) heard(run string, err error) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		now := time.Now()
		if c.run == "" || now.Sub(c.last) > silence {
			c.believed = now.Add(c.settle)
		}
		c.last, c.run = now, run
	}
	return c.run
}

// settling reports whether the cache is not used: in a silence, and for a while after it.
func (c *contact) settling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return c.run == "" || now.Before(c.believed) || now.Sub(c.last) > silence
}

func (c *contact) isDown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

// turn sets whether Redis is gone.
func (c *contact) turn(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// doubt has the next heartbeat sent at once.
func (all *contacts) doubt() {
	select {
	case all.doubts <- struct{}{}:
	default:
	}
}

// contactOf returns the contact with the master of a key. If its master is unknown, that contact is never used.
func (s *Store) contactOf(ctx context.Context, key string) *contact {
	cluster, ok := s.client.(*goredis.ClusterClient)
	if !ok {
		return s.contacts.at("")
	}
	node, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return &contact{contacts: s.contacts, down: true}
	}
	return s.contacts.at(node.Options().Addr)
}

// alone returns how long until all others have noticed that they are cut off if this replica is.
func (c *contact) alone(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.Add(c.grace).Sub(now)
}

// watch sends heartbeats until ctx is done. When Redis is back, it first sends owed writes.
func (s *Store) watch(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	others := time.NewTicker(fleetSeen)
	defer others.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.contacts.doubts:
		case <-others.C:
			if err := s.do(ctx, ofFleet, s.fleetKey(), s.meet); err == nil {
				continue
			}
		case <-ctx.Done():
			return
		}
		within, cancel := context.WithTimeout(ctx, s.timeout)
		heard := s.pulse(within)
		cancel()
		if ctx.Err() != nil {
			return
		}
		s.hear(ctx, heard)
	}
}

// hear takes what became of the heartbeats, by the address of each master.
func (s *Store) hear(ctx context.Context, heard map[string]error) {
	some, all := false, true
	for _, err := range heard {
		some, all = some || err == nil, all && err == nil
	}
	var owing error
	if some {
		owing = s.payOwed(ctx)
		s.renewLeads(ctx)
	}
	if cluster, ok := s.client.(*goredis.ClusterClient); ok {
		if s.contacts.keep(heard) || !all || owing != nil {
			cluster.ReloadState(ctx) // another may have taken the place of a master
		}
		owing = nil // no server to which something is owed is read
	}
	for address, err := range heard {
		c := s.contacts.at(address)
		if err = cmp.Or(err, owing); err == nil && c.isDown() {
			s.runs.again() // before any call asks for a token
		}
		c.turn(err != nil)
		s.said.change(ctx, serverAt(address), err) // also if it goes on, so that the end has a line
	}
}

// serverAt is what a line of the log about a master names; only those of a cluster have an address.
func serverAt(address string) string { return strings.TrimSpace(ofServer + " " + address) }

// pulse sends a heartbeat to each master, and returns what became of each.
func (s *Store) pulse(ctx context.Context) map[string]error {
	cluster, ok := s.beats.(*goredis.ClusterClient)
	if !ok {
		run, err := pulse.Run(ctx, s.beats, nil).Text()
		s.contacts.at("").heard(run, err)
		return map[string]error{"": err}
	}
	var mu sync.Mutex
	heard, current := make(map[string]error), make(map[string]bool)
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
		run, err := pulse.Run(ctx, node, nil).Text()
		address := node.Options().Addr
		run = s.contacts.at(address).heard(run, err)
		mu.Lock()
		defer mu.Unlock()
		heard[address], current[run] = err, true
		return nil
	})
	if err != nil { // it is not known which masters there are
		s.contacts.mu.Lock()
		defer s.contacts.mu.Unlock()
		if len(s.contacts.of) == 0 { // the store is being opened
			heard[""] = err
		}
		for address := range s.contacts.of {
			heard[address] = err
		}
		return heard
	}
	s.runs.only(current)
	return heard
}
