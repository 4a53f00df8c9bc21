package redis

import (
	"context"
	"errors"
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
var errGone = errors.New("redis: no answer; calls go on without it until it is back")

// A contact tracks whether Redis takes heartbeats. Other answers may be those of a read-only Redis.
type contact struct {
	grace  time.Duration // after the last heartbeat, until all others have noticed
	settle time.Duration // after it came back, until all others have noticed; the cache is not used

	mu       sync.Mutex
	last     time.Time // of the last heartbeat
	believed time.Time // from when on the cache is used
	down     bool
	doubts   chan struct{}
}

func newContact(timeout time.Duration) *contact {
	notice := beat + timeout
	return &contact{grace: silence + notice + 100*time.Millisecond, settle: notice + 150*time.Millisecond, doubts: make(chan struct{}, 1)}
}

func (c *contact) answered(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && now.Sub(c.last) > silence {
		c.believed = now.Add(c.settle)
	}
	c.last = now
}

// settling reports whether the cache is not used: in a silence, and for a while after it.
func (c *contact) settling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return now.Before(c.believed) || now.Sub(c.last) > silence
}

func (c *contact) isDown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

// turn sets whether Redis is gone, and reports whether that is new.
func (c *contact) turn(down bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.down != down
	c.down = down
	return changed
}

func (c *contact) doubt() {
	select {
	case c.doubts <- struct{}{}:
	default:
	}
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
		case <-s.contact.doubts:
		case <-others.C:
			if err := s.do(ctx, ofFleet, s.meet); err == nil {
				continue
			}
		case <-ctx.Done():
			return
		}
		err := s.pulse(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			s.contact.answered(time.Now())
			err = s.payOwed(ctx)
			s.renewLeads(ctx)
		}
		if err == nil && s.contact.isDown() {
			s.returns.again(time.Now()) // before any call asks for a token
		}
		if s.contact.turn(err != nil) {
			s.said.change(ctx, ofServer, err)
		}
	}
}

func (s *Store) pulse(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	cluster, ok := s.beats.(*goredis.ClusterClient)
	if !ok {
		return pulse.Run(ctx, s.beats, nil).Err()
	}
	var mu sync.Mutex
	masters := make(map[string]bool)
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
		run, err := pulse.Run(ctx, node, nil).Text()
		mu.Lock()
		defer mu.Unlock()
		masters[run] = err == nil
		return err
	})
	if err == nil {
		s.runs.only(masters)
	}
	return err
}
