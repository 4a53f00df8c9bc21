package proxy

// One user of a proxy for a team must not take the places of all. Sessions, requests in flight, the bytes of their bodies
// and questions that wait for a person are therefore bounded for each user first, and then in all. A user over their
// share gets 429 with a time to come again; the others go on, and the proxy stays ready.
//
// A user is the name in the token or certificate. Without [Options.Access] the proxy takes clients of this machine
// alone: they are one user, and only the bounds in all count.

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// Bounds of what may be open at once.
const (
	maxSessions  = 100
	maxInFlight  = 2000      // requests, over all sessions
	maxQuestions = 100       // calls that wait for a person
	maxBodies    = 128 << 20 // bytes of bodies that are read or worked on: four of the largest
	leastBodies  = 64 << 20  // likewise, where there is little room: one of the largest for each of two users
	smallBody    = 64 << 10  // up to here a body is counted by its request alone

	shareOfUser = 5 // by default a user may have a fifth of everything
	leastShare  = 2
)

// How long a client is asked to wait, in seconds.
const (
	afterSessions = 60 // a session ends by a DELETE, or half an hour after its last request
	afterRequests = 1
)

// A busyError refuses a request because of what is open already.
type busyError struct {
	why   string
	after int // seconds
}

func (e *busyError) Error() string { return "proxy: " + e.why }

// header sets when the client may come again.
func (e *busyError) header(h http.Header) { h.Set("Retry-After", strconv.Itoa(e.after)) }

// shareOf returns how much of a bound one user may have, unless the operator has set it.
func shareOf(set, all int) int {
	return cmp.Or(set, min(all, max(leastShare, all/shareOfUser)))
}

// bounds returns the operator's settings with the defaults for what is not set.
func bounds(a *access.Access) access.File {
	var f access.File
	if a != nil {
		f = a.File
	}
	f.Sessions, f.Requests = cmp.Or(f.Sessions, maxSessions), cmp.Or(f.Requests, maxInFlight)
	f.PerUser.Sessions = shareOf(f.PerUser.Sessions, f.Sessions)
	f.PerUser.Requests = shareOf(f.PerUser.Requests, f.Requests)
	return f
}

// A quota counts what is in use, of each user and in all. It is safe for concurrent use.
type quota struct {
	most, mostOfUser int

	mu  sync.Mutex
	all int
	of  map[string]int
}

func newQuota(most, mostOfUser int) *quota {
	return &quota{most: most, mostOfUser: mostOfUser, of: make(map[string]int)}
}

// take adds n, unless that would be too much for the user, or in all. The user "" is bounded by the latter alone.
func (q *quota) take(user string, n int) (ofUser, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case user != "" && q.of[user]+n > q.mostOfUser:
		return true, false
	case q.all+n > q.most:
		return false, false
	}
	q.all += n
	q.of[user] += n
	return false, true
}

// give takes n back.
func (q *quota) give(user string, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all -= n
	if q.of[user] -= n; q.of[user] <= 0 {
		delete(q.of, user)
	}
}

// bodies returns how many bytes of bodies there may be, beside so many of what servers send.
func bodies(inFlight int64) int { return int(max(leastBodies, min(maxBodies, inFlight/2))) }

// body takes the bytes of a request's body, by its length, and returns what gives them back.
func (f *front) body(r *http.Request) (done func(), busy *busyError) {
	user, n := access.Of(r.Context()).User, int(min(r.ContentLength, maxBody))
	if n < 0 { // it has no length
		n = maxBody
	}
	if n <= smallBody {
		return func() {}, nil
	}
	switch ofUser, ok := f.bodies.take(user, n); {
	case ok:
		return func() { f.bodies.give(user, n) }, nil
	case ofUser:
		return nil, &busyError{fmt.Sprintf("your requests under way may have %d MB together; wait for one of them", f.bodies.mostOfUser>>20), afterRequests}
	}
	return nil, &busyError{fmt.Sprintf("the requests under way have %d MB together, the most; try again later", f.bodies.most>>20), afterRequests}
}

// request takes a place for a request, and returns what gives it back.
func (f *front) request(user string) (done func(), busy *busyError) {
	switch ofUser, ok := f.requests.take(user, 1); {
	case ok:
		return func() { f.requests.give(user, 1) }, nil
	case ofUser:
		return nil, &busyError{fmt.Sprintf("you have %d requests under way, the most for one user; wait for one of them", f.requests.mostOfUser), afterRequests}
	}
	return nil, &busyError{fmt.Sprintf("%d requests are under way, the most; try again later", f.requests.most), afterRequests}
}

// room makes room for a session of a user, whom f.mu guards. If all places are taken and another user has more of them
// than the two would have after it, the quietest of that user's sessions without a request under way is returned: it has
// been taken out of the sessions and has to be closed.
func (f *front) room(ctx context.Context, user string) (over *httpSession, busy *busyError) {
	of := make(map[string]int)
	for h := range maps.Values(f.sessions) {
		of[h.session.caller.User]++
	}
	b := f.bounds
	switch {
	case user != "" && of[user] >= b.PerUser.Sessions:
		return nil, &busyError{fmt.Sprintf("you have %d sessions, the most for one user; end one by a DELETE, or try again later", of[user]), afterSessions}
	case len(f.sessions) < b.Sessions:
		return nil, nil
	}
	for _, h := range f.sessions {
		its := of[h.session.caller.User]
		if its <= of[user]+1 || h.busy() {
			continue
		}
		if over == nil || its > of[over.session.caller.User] ||
			its == of[over.session.caller.User] && h.lastUsed().Before(over.lastUsed()) {
			over = h
		}
	}
	if over == nil {
		return nil, &busyError{fmt.Sprintf("%d sessions are open, the most; end one by a DELETE, or try again later", b.Sessions), afterSessions}
	}
	delete(f.sessions, over.key)
	f.proxy.log.WarnContext(ctx, "proxy: all sessions were taken; one of the user with the most was ended for another user",
		slog.String("user", safetext.Line(over.session.caller.User)), slog.Int("sessions", of[over.session.caller.User]))
	return over, nil
}

// maxLogged is how many users are kept of whom the log had a line within the last minute.
const maxLogged = 1000

// logs reports whether the log gets a line of a user who is over their share: one a minute.
func (f *front) logs(user string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if last, ok := f.logged[user]; ok && now.Sub(last) < time.Minute {
		return false
	}
	if f.logged == nil || len(f.logged) >= maxLogged {
		f.logged = make(map[string]time.Time)
	}
	f.logged[user] = now
	return true
}

// busy reports whether a request of the session's client is under way, or a task of one.
func (h *httpSession) busy() bool {
	h.mu.Lock()
	streams := len(h.streams)
	h.mu.Unlock()
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	return streams > 0 || len(h.session.running) > 0 || len(h.session.tasks) > 0
}

// lastUsed is when the session's client sent something last.
func (h *httpSession) lastUsed() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.used
}
