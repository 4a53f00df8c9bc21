package proxy

// What servers send is held here until the client has it: a result in the bytes of the server, and its texts once more.
// A large message of a server takes room for its bytes before they are read. Without room it is not read on: the server
// waits as for a slow client, and a call ends by its own deadline. The outcome is unknown then, as after any timeout, so a
// write is held as in doubt and not sent again. While a user's results wait for room, no further call of
// theirs is sent.
//
// How long a message is may show only at its end. So that two half-read messages do not wait for each other, one at a
// time has the passing place: room for the longest message, beside that for all.

import (
	"cmp"
	"context"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// roomWithoutLimit is for what servers have sent in all, if Go has no memory limit.
	roomWithoutLimit = 512 << 20
	// LeastInFlight is the least of [Options.InFlight]: for the longest message, and something beside it.
	LeastInFlight = maxLine + 16<<20
	// roomOfLimit is the part of Go's memory limit that is room. A message needs up to three times its bytes.
	roomOfLimit = 4

	// mostFlow is for the texts of results that values of later calls are compared with, if that is not more than there is
	// room for messages by Go's memory limit.
	mostFlow = 256 << 20

	// sendPatience is how long a call waits for room before it is sent, if its own deadline does not come first.
	sendPatience = 30 * time.Second
)

// roomOf returns how many bytes of servers' messages are held at most, by the operator's setting or else by Go's memory
// limit (GOMEMLIMIT).
func roomOf(set int64) int64 {
	limit := debug.SetMemoryLimit(-1)
	switch {
	case set > 0:
	case limit == math.MaxInt64:
		return roomWithoutLimit
	default:
		set = limit / roomOfLimit
	}
	return max(set, LeastInFlight)
}

// A room bounds the bytes of servers' messages that are held, of each user and in all. It is safe for concurrent use.
type room struct {
	most, mostOfUser int64 // beside the passing place

	mu      sync.Mutex
	used    int64
	of      map[string]int64
	passing *held          // that has the passing place
	passed  map[string]int // how often a user had it since something waits
	waiting []*wish
}

// A wish is a message that waits for room.
type wish struct {
	held    *held
	to      int64
	granted bool          // guarded by the room's mutex
	over    chan struct{} // closed when it is granted or given up
}

func newRoom(size int64) *room {
	most := size - maxLine
	return &room{most: most, mostOfUser: most / 2, of: make(map[string]int64), passed: make(map[string]int)}
}

// A held is the room of one message. Nil is one that nothing bounds. Its ctx ends what waits.
type held struct {
	room *room
	ctx  context.Context
	user string

	// The room's mutex guards what follows.
	bytes int64 // taken
	kept  bool  // until its request has ended, and not only while it is handed on
	gone  bool  // given back
}

// hold returns what takes room for a message to a user.
func (r *room) hold(ctx context.Context, user string) *held {
	return &held{room: r, ctx: ctx, user: user}
}

// grow takes room for so many bytes in all, and waits for it. Small messages take none. The error is that of the context.
func (h *held) grow(to int64) error {
	if h == nil || to <= smallBody {
		return nil
	}
	r := h.room
	r.mu.Lock()
	if to <= h.bytes || h.gone || r.grant(h, to) {
		r.mu.Unlock()
		return nil
	}
	w := &wish{held: h, to: to, over: make(chan struct{})}
	r.waiting = append(r.waiting, w)
	r.mu.Unlock()
	select {
	case <-w.over:
		return nil
	case <-h.ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.granted {
		return nil
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(other *wish) bool { return other == w })
	close(w.over)
	return context.Cause(h.ctx)
}

// grant takes the room if it is there. The lock is held.
func (r *room) grant(h *held, to int64) bool {
	more := to - h.bytes
	switch {
	case r.passing == h:
		h.bytes = to
		return true
	case r.used+more <= r.most && (h.user == "" || r.of[h.user]+more <= r.mostOfUser):
		r.take(h.user, more)
	case r.passing == nil:
		r.take(h.user, -h.bytes)
		r.passing = h
		r.passed[h.user]++
	default:
		return false
	}
	h.bytes = to
	return true
}

func (r *room) take(user string, n int64) {
	r.used += n
	if r.of[user] += n; r.of[user] == 0 {
		delete(r.of, user)
	}
}

// serve grants what waits: that of users first who had the passing place least, or hold the least, and in the order of its
// arrival. The lock is held.
func (r *room) serve() {
	slices.SortStableFunc(r.waiting, func(a, b *wish) int {
		one, other := a.held.user, b.held.user
		return cmp.Or(cmp.Compare(r.passed[one], r.passed[other]), cmp.Compare(r.of[one], r.of[other]))
	})
	r.waiting = slices.DeleteFunc(r.waiting, func(w *wish) bool {
		if !w.held.gone && !r.grant(w.held, w.to) {
			return false
		}
		w.granted = true
		close(w.over)
		return true
	})
	if len(r.waiting) == 0 {
		clear(r.passed)
	}
}

// keep leaves the room taken after the message was handed on, for whom the answer is for.
func (h *held) keep() {
	if h != nil {
		h.room.mu.Lock()
		h.kept = true
		h.room.mu.Unlock()
	}
}

// handed gives the room back, unless somebody keeps it.
func (h *held) handed() { h.giveBack(false) }

// release gives the room back.
func (h *held) release() { h.giveBack(true) }

func (h *held) giveBack(kept bool) {
	if h == nil {
		return
	}
	r := h.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.gone || h.kept && !kept {
		return
	}
	h.gone = true
	if r.passing == h {
		r.passing = nil
	} else {
		r.take(h.user, -h.bytes)
	}
	r.serve()
}

// toSend waits until no result of the user waits for room, for [sendPatience] at most. An error means that a call is not
// to be sent.
func (r *room) toSend(ctx context.Context, user string) error {
	first := r.first(user)
	if first == nil {
		return nil
	}
	patience := time.NewTimer(sendPatience)
	defer patience.Stop()
	for ; first != nil; first = r.first(user) {
		select {
		case <-first.over:
		case <-patience.C:
			return notSent(&busyError{"large results of earlier calls are on their way, and there is no room for more; the call was not sent, try again later", afterRequests})
		case <-ctx.Done():
			return notSent(context.Cause(ctx))
		}
	}
	return nil
}

// first returns the user's message that has waited for room longest, nil for none.
func (r *room) first(user string) *wish {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting {
		if w.held.user == user {
			return w
		}
	}
	return nil
}

// use returns how much is taken, and how many messages wait for room.
func (r *room) use() (bytes Use, waiting int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	bytes = Use{r.used, r.most + maxLine}
	if r.passing != nil {
		bytes.Now += r.passing.bytes
	}
	return bytes, int64(len(r.waiting))
}

// holds are the rooms of what was answered to one request of a client. They are given back when it has ended.
type holds struct {
	mu   sync.Mutex
	all  []*held
	over bool
}

// holdsIn returns those of the client's request that a context is of, nil for none.
func holdsIn(ctx context.Context) *holds {
	switch r := ctx.Value(requestKey{}).(type) {
	case *underWay:
		return r.holds
	case *clientCall:
		return r.holds
	}
	return nil
}

// keep leaves the room of an answer taken until the request has ended.
func (s *holds) keep(h *held) {
	if s == nil || h == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		h.keep()
		s.all = append(s.all, h)
	}
}

// next gives back the room of earlier answers, since another one is asked for.
func (s *holds) next() { s.giveBack(false) }

// release gives the room back, since the request has ended.
func (s *holds) release() { s.giveBack(true) }

func (s *holds) giveBack(over bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = s.over || over
	for _, h := range s.all {
		h.release()
	}
	s.all = nil
}
