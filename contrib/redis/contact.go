package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// How a replica knows that it heard of every write of the others. While Redis
// answers none of them, a write that nobody could note is not told to be over
// before each of them must have seen that it is cut off, and what they believe
// again afterwards comes after that write's replica has made up for it.
const (
	beat = 100 * time.Millisecond // between two heartbeats
	// silence is the time without an answer after which nothing is believed that
	// Redis knew before.
	silence = time.Second
)

// errGone is what operations end with while Redis is known to be gone.
var errGone = errors.New("redis: no answer; calls go on without until it is back")

// A contact knows whether Redis answers.
type contact struct {
	grace  time.Duration // after the last answer, by when all others know
	settle time.Duration // after it came back, by when all others have noticed; until then nothing is believed

	mu       sync.Mutex
	last     time.Time // of the last answer
	believed time.Time // from when on what it knows is believed
	down     bool
	doubts   chan struct{}
}

func newContact(timeout time.Duration) *contact {
	notice := beat + timeout
	return &contact{grace: silence + notice + 100*time.Millisecond, settle: notice + 150*time.Millisecond, doubts: make(chan struct{}, 1)}
}

// answered notes an answer.
func (c *contact) answered(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && now.Sub(c.last) > silence {
		c.believed = now.Add(c.settle)
	}
	c.last = now
}

// settling reports whether nothing is believed yet after a silence.
func (c *contact) settling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.believed)
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

// doubt asks for a heartbeat at once.
func (c *contact) doubt() {
	select {
	case c.doubts <- struct{}{}:
	default:
	}
}

// alone returns how long it takes until all other replicas know that they were cut
// off if this one is.
func (c *contact) alone(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.Add(c.grace).Sub(now)
}

// watch sends heartbeats until ctx is done. When Redis is back, this replica first
// makes up for what it could not say.
func (s *Store) watch(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.contact.doubts:
		case <-ctx.Done():
			return
		}
		err := s.ping(ctx)
		if ctx.Err() != nil {
			return
		}
		if isAnswer(err) {
			s.contact.answered(time.Now())
			err = s.payOwed(ctx)
			s.renewLeads(ctx)
		}
		if err == nil && s.contact.isDown() {
			s.returns.again(time.Now()) // before anybody asks for a token
		}
		if s.contact.turn(err != nil) {
			s.said.change(ctx, ofServer, err)
		}
	}
}

func (s *Store) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	cluster, ok := s.beats.(*goredis.ClusterClient)
	if !ok {
		return s.beats.Ping(ctx).Err()
	}
	var mu sync.Mutex
	masters := make(map[string]bool)
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
		run, err := runOf(ctx, node)
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
