package flow

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits bound what a [Tracker] keeps. A zero field has the default.
type Limits struct {
	Sessions int // with texts; 0 means 1,000
	Results  int // of one session; 0 means 256
	Bytes    int // of the results of one session; 0 means 1 MiB
	Total    int // of all sessions, with their indexes; 0 means 256 MiB
}

// A Tracker holds the texts of each session, by source. The texts are kept in clear, in memory only, until they
// are the oldest beyond a limit or the session ends. It is safe for concurrent use. The zero value is not ready; use
// [NewTracker].
type Tracker struct {
	limits Limits

	mu          sync.Mutex // never taken while a session's is held
	sessions    *simplelru.LRU[string, *session]
	lost        *simplelru.LRU[string, struct{}] // sessions that were evicted
	lostMore    bool                             // and some of them are not in lost
	total       int
	listed      *simplelru.LRU[[sha256.Size]byte, *group] // lists of definitions
	listedBytes int
	host        []*folded.Text // of all sessions
	scopes      *simplelru.LRU[string, *scope]
	made        int64        // sessions
	clock       atomic.Int64 // counts results
}

// maxLost is how many evicted sessions are known by name. Beyond it every new session counts as one that was evicted.
const maxLost = 100_000

// NewTracker returns a tracker without sessions. It panics on a negative limit.
func NewTracker(l Limits) *Tracker {
	fault.RefuseNegative("flow: Limits", l)
	t := &Tracker{limits: Limits{cmp.Or(l.Sessions, 1000), cmp.Or(l.Results, 256), cmp.Or(l.Bytes, 1<<20), cmp.Or(l.Total, 256<<20)}}
	gone := func(_ string, s *session) { t.total -= s.counted }
	t.sessions, _ = simplelru.NewLRU(t.limits.Sessions+1, gone) // its one error is a size of 0 or less
	t.lost, _ = simplelru.NewLRU[string, struct{}](maxLost, nil)
	t.listed, _ = simplelru.NewLRU(maxAllListed, func(_ [sha256.Size]byte, g *group) { t.listedBytes -= g.held() })
	t.scopes, _ = simplelru.NewLRU[string, *scope](t.limits.Sessions, nil)
	return t
}

// User adds a message to a session, as the user wrote it. Never pass a text that someone else wrote.
func (t *Tracker) User(session, words string) {
	s := t.session(session)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = true
	s.user = append(s.user, folded.New(words, false))
	for s.userBytes += len(words); s.userBytes > t.limits.Bytes && len(s.user) > 1; s.user = s.user[1:] {
		s.userBytes -= len(s.user[0].Raw)
	}
}

// Host adds words of the host to all sessions, such as constants that the model may use: no text of users or
// tools.
func (t *Tracker) Host(words string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.host = append(slices.Clip(t.host), folded.New(words, false))
}

// Result adds what came of a call past the middleware, such as the result of a task. err is the server's error.
func (t *Tracker) Result(session string, call middleware.Call, res *mcp.CallToolResult, err error, trusted bool) {
	t.take(session, t.session(session), call, res, err, trusted)
}

// End drops a session, and what was passed on in a scope of that name.
func (t *Tracker) End(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions.Remove(session)
	t.lost.Remove(session)
	t.scopes.Remove(session)
}

// scope returns what sessions of a scope passed on.
func (t *Tracker) scope(name string) *scope {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sc, ok := t.scopes.Get(name); ok {
		return sc
	}
	sc := new(scope)
	t.scopes.Add(name, sc)
	return sc
}

func (t *Tracker) session(name string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.sessions.Get(name); ok {
		return s
	}
	t.made++
	s := &session{id: t.made, forgot: t.lostMore || t.lost.Contains(name)}
	t.sessions.Add(name, s)
	t.shrink()
	return s
}

// count takes what a session holds now into the total, and gives up the least recently used sessions for it.
func (t *Tracker) count(name string, s *session, bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept, ok := t.sessions.Peek(name); !ok || kept != s {
		return
	}
	t.total += bytes - s.counted
	s.counted = bytes
	t.shrink()
}

func (t *Tracker) shrink() {
	for t.sessions.Len() > 1 && (t.sessions.Len() > t.limits.Sessions || t.total > t.limits.Total) {
		name, _, _ := t.sessions.RemoveOldest()
		if t.lost.Add(name, struct{}{}) {
			t.lostMore = true
		}
	}
}

func (t *Tracker) constants() []*folded.Text {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.host
}

// take adds what came of a call to the session, and returns what is known of it: whether it is trusted, and sensitive.
func (t *Tracker) take(name string, s *session, call middleware.Call, res *mcp.CallToolResult, err error, trust bool) (trusted, sensitive bool) {
	r := &result{tool: call.Tool, call: call.ID, key: callKey(&call), trusted: trust, session: s.id, tick: t.clock.Add(1)}
	if trust {
		if r.through = t.scope(call.Scope).source(&call); r.through != nil {
			r.trusted = false
		}
	}
	raw := r.read(res, err)
	trusted, sensitive = r.trusted, r.sensitive
	if raw == "" {
		return trusted, sensitive
	}
	cut := len(raw) > t.limits.Bytes
	if cut {
		raw = strings.Clone(strings.ToValidUTF8(raw[:t.limits.Bytes], "")) // or the whole result would be kept
	}
	r.raw = raw
	r.keeps(&call)
	s.mu.Lock()
	r.seq = s.seq
	s.forgot = s.forgot || cut
	if err == nil {
		s.restated(r)
	}
	s.add(r, t.limits)
	held := s.held()
	s.mu.Unlock()
	t.count(name, s, held)
	return trusted, sensitive
}

// passed remembers what a call took along, unless it is known not to have been sent.
func (t *Tracker) passed(call middleware.Call, p *passing, res *mcp.CallToolResult, err error) {
	if p == nil {
		return
	}
	if middleware.NotSent(err) {
		return
	}
	var keys []string
	if res != nil {
		keys = returned(call.Tool.Server, new(result).read(res, nil))
	}
	t.scope(call.Scope).remember(p, keys)
}
