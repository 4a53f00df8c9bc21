package catalog

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How often the catalogue lists a server by itself.
const (
	settle      = 200 * time.Millisecond // after a change, since more may follow
	pace        = 5 * time.Second        // between the beginnings of two lists
	shortestTTL = time.Minute
	tryAgain    = time.Minute // after a list that failed
)

// ErrClosed is in the tree of what Add and Refresh return after Close.
var ErrClosed = errors.New("the catalogue is closed; make a new one")

// A watcher is what the catalogue does by itself. The catalogue's mutex guards it.
type watcher struct {
	on      bool // somebody hears when a list has changed
	closed  bool
	life    context.Context //nolint:containedctx // it ends at Close
	end     context.CancelFunc
	work    sync.WaitGroup // the lists under way
	joining map[*join]bool // what is being added
}

func newWatcher() watcher {
	life, end := context.WithCancel(context.Background())
	return watcher{life: life, end: end, joining: make(map[*join]bool)}
}

// A join is a session whose server is being added. A change that comes while its
// tools are listed may have missed the list.
type join struct {
	session Session
	changed bool
}

func (c *Catalog) join(s Session) *join {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := &join{session: s}
	c.watcher.joining[j] = true
	return j
}

func (c *Catalog) joined(j *join) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watcher.joining, j)
}

// Watch returns what mcp.ClientOptions.ToolListChangedHandler has to call for the
// catalogue to hear of changes; mount.Options sets it. A storm of them costs few
// lists: the first is followed by one after 200 ms, and the others by one every
// five seconds at most.
func (c *Catalog) Watch() func(context.Context, *mcp.ToolListChangedRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watcher.on = true
	return func(_ context.Context, req *mcp.ToolListChangedRequest) {
		if req != nil && req.Session != nil {
			c.changed(req.Session)
		}
	}
}

func (c *Catalog) changed(cs *mcp.ClientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for j := range c.watcher.joining {
		j.changed = j.changed || j.session == Session(cs)
	}
	for id, s := range c.servers {
		if s.added && s.session == Session(cs) {
			c.wake(id, s, settle)
		}
	}
	for _, known := range c.replicas {
		if r := known.Value(); r != nil && r.session == Session(cs) {
			r.wake(listChanged)
		}
	}
}

// nextList is when a server is listed next.
type nextList struct {
	timer *time.Timer // nil for never
	due   time.Time
	began time.Time // the last one
	busy  bool      // one is under way
	again bool      // and there is a reason for another already
}

func (n *nextList) stop() {
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
}

// wake has a server listed after a while, or earlier where that is planned already;
// the caller holds the mutex.
func (c *Catalog) wake(id string, s *server, after time.Duration) {
	n := &s.next
	switch {
	case c.watcher.closed || c.servers[id] != s:
		return
	case n.busy:
		n.again = n.again || after <= settle
		return
	}
	now := time.Now()
	due := now.Add(after)
	if soonest := n.began.Add(pace); due.Before(soonest) {
		due = soonest
	}
	if n.timer != nil {
		if !due.Before(n.due) {
			return
		}
		n.stop()
	}
	n.due, n.timer = due, time.AfterFunc(due.Sub(now), func() { c.fire(id, s) })
}

// fire lists a server that is due.
func (c *Catalog) fire(id string, s *server) {
	c.mu.Lock()
	n := &s.next
	if c.watcher.closed || n.busy || n.timer == nil || time.Now().Before(n.due) {
		c.mu.Unlock()
		return
	}
	n.timer, n.busy, n.again, n.began = nil, true, false, time.Now()
	c.watcher.work.Add(1)
	defer c.watcher.work.Done()
	c.mu.Unlock()

	err := c.Refresh(c.watcher.life, id)

	c.mu.Lock()
	defer c.mu.Unlock()
	n.busy = false
	switch {
	case closed(err): // the finding stands until the host comes with another session
	case n.again:
		c.wake(id, s, settle)
	case err != nil:
		c.wake(id, s, tryAgain)
	default:
		if s.ttl > 0 {
			c.wake(id, s, s.ttl)
		}
	}
}

// closed reports whether a list failed since its session is closed, and stays so.
func closed(err error) bool { return sdkerr.ClosedBefore("tools/list", err) }

// Close ends what the catalogue does by itself: no server is listed any more, and no
// event is told once it has returned, except to a listener that is at work just
// then. Lookups and calls go on with what is known; the sessions are the host's to
// close. It waits for the lists under way, which end at once, and may be called more
// than once.
func (c *Catalog) Close() error {
	c.mu.Lock()
	c.watcher.closed = true
	c.watcher.end()
	for _, s := range c.servers {
		s.next.stop()
	}
	c.events.close()
	c.mu.Unlock()
	c.watcher.work.Wait()
	return nil
}

// bare says what a session cannot give because it was not prepared before it
// connected; the caller holds the mutex. Of a session of the host's own nothing is
// known.
func (c *Catalog) bare(s Session, prepared bool) string {
	cs, ok := s.(*mcp.ClientSession)
	if !ok {
		return ""
	}
	var lost []string
	if !prepared {
		lost = append(lost, "a hint that is absent cannot be told from one that is false, and one malformed tool fails the whole list: connect through mount.Transport")
	}
	if about := cs.InitializeResult(); !c.watcher.on && about != nil && about.Capabilities != nil && about.Capabilities.Tools != nil && about.Capabilities.Tools.ListChanged {
		lost = append(lost, "it tells when its tools change, and nobody listens: make the client with mount.Options")
	}
	if len(lost) == 0 {
		return ""
	}
	return "its session was not prepared; " + strings.Join(lost, "; ")
}
