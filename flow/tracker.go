package flow

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"

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
// are the oldest beyond a limit or the session ends. It is safe for concurrent use.
type Tracker struct {
	limits Limits

	mu       sync.Mutex // never taken while a session's is held
	sessions *simplelru.LRU[string, *session]
	lost     *simplelru.LRU[string, struct{}] // sessions that were evicted
	lostMore bool                             // and some of them are not in lost
	total    int
	host     []*folded.Text // of all sessions
}

const maxLost = 100_000

// NewTracker returns a tracker without sessions. It panics on a negative limit.
func NewTracker(l Limits) *Tracker {
	fault.RefuseNegative("flow: Limits", l)
	t := &Tracker{limits: Limits{cmp.Or(l.Sessions, 1000), cmp.Or(l.Results, 256), cmp.Or(l.Bytes, 1<<20), cmp.Or(l.Total, 256<<20)}}
	gone := func(_ string, s *session) { t.total -= s.counted }
	t.sessions, _ = simplelru.NewLRU(t.limits.Sessions+1, gone) // its one error is a size of 0 or less
	t.lost, _ = simplelru.NewLRU[string, struct{}](maxLost, nil)
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

// End drops a session.
func (t *Tracker) End(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions.Remove(session)
	t.lost.Remove(session)
}

type session struct {
	mu        sync.Mutex
	known     bool           // the host passes the user's words
	user      []*folded.Text // what the user wrote, the latest of it
	userBytes int
	groups    []*group
	pending   []*result // that are not yet in a group, the oldest first
	seq       int       // of the next call
	results   int
	bytes     int
	forgot    bool // results of it were given up
	counted   int  // of its bytes, in the tracker's total; guarded by the tracker's lock

	// The value that is looked up, in its forms, in reused memory.
	value, passage folded.Text
	backwards      []byte
	place          []byte
	budget         int // bytes of results that may still be compared for this call
	look           lookup
}

type result struct {
	raw       string
	text      *folded.Text // nil while it is pending
	tool      *middleware.Tool
	call      string
	seq       int
	trusted   bool
	sensitive bool
}

func (t *Tracker) session(name string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.sessions.Get(name); ok {
		return s
	}
	s := &session{forgot: t.lostMore || t.lost.Contains(name)}
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

func (t *Tracker) take(name string, s *session, call middleware.Call, res *mcp.CallToolResult, err error, trusted bool) {
	r := &result{tool: call.Tool, call: call.ID, trusted: trusted}
	raw := r.read(res, err)
	if raw == "" {
		return
	}
	cut := len(raw) > t.limits.Bytes
	if cut {
		raw = strings.ToValidUTF8(raw[:t.limits.Bytes], "")
	}
	r.raw = raw
	s.mu.Lock()
	r.seq = s.seq
	s.forgot = s.forgot || cut
	s.add(r, t.limits)
	held := s.held()
	s.mu.Unlock()
	t.count(name, s, held)
}

// read returns the text of a result, and notes what the result claims of itself.
func (r *result) read(res *mcp.CallToolResult, err error) string {
	var parts []string
	if err != nil {
		parts = append(parts, err.Error())
	}
	if res == nil {
		return strings.Join(parts, "\n")
	}
	r.claim(res.Meta)
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			r.claim(c.Meta)
			parts = append(parts, c.Text)
		case *mcp.EmbeddedResource:
			r.claim(c.Meta)
			if c.Resource != nil {
				parts = append(parts, c.Resource.URI, c.Resource.Text)
			}
		case *mcp.ResourceLink:
			r.claim(c.Meta)
			parts = append(parts, c.URI, c.Name, c.Title, c.Description)
		case *mcp.ImageContent:
			r.claim(c.Meta)
		case *mcp.AudioContent:
			r.claim(c.Meta)
		}
	}
	if res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			parts = append(parts, string(raw))
		}
	}
	return strings.Join(parts, "\n")
}

// ClaimKey is the member of _meta where a result states what it is: an object with untrusted and sensitive.
const ClaimKey = "io.modelcontextprotocol/trust-annotations"

// Claim states on a result, or on a block of it, that its text is of strangers, or not for everybody. It returns
// the Meta to keep. A claim that is there stays, and two false ones add nothing.
func Claim(meta mcp.Meta, untrusted, sensitive bool) mcp.Meta {
	if !untrusted && !sensitive {
		return maps.Clone(meta)
	}
	out, claim := make(mcp.Meta), make(map[string]any)
	maps.Copy(out, meta)
	before, _ := meta[ClaimKey].(map[string]any)
	maps.Copy(claim, before)
	for name, holds := range map[string]bool{"untrusted": untrusted, "sensitive": sensitive} {
		if holds {
			claim[name] = true
		}
	}
	out[ClaimKey] = claim
	return out
}

// claim takes over what _meta states. It only adds: no claim makes a result trusted.
func (r *result) claim(meta mcp.Meta) {
	claim, _ := meta[ClaimKey].(map[string]any)
	if claim["untrusted"] == true {
		r.trusted = false
	}
	if claim["sensitive"] == true {
		r.sensitive = true
	}
}

// add adds a result, which is folded when the first value is looked up, and gives up the oldest beyond the
// limits.
func (s *session) add(r *result, l Limits) {
	s.pending = append(s.pending, r)
	s.results++
	s.bytes += len(r.raw)
	for s.results > 1 && (s.results > l.Results || s.bytes > l.Bytes) {
		s.dropOldest()
	}
}

func (s *session) settle() {
	for _, r := range s.pending {
		r.text = folded.New(r.raw, true)
		if len(s.groups) == 0 || s.groups[len(s.groups)-1].next == len(group{}.results) {
			s.groups = append(s.groups, newGroup())
		}
		s.groups[len(s.groups)-1].add(r)
	}
	s.pending = nil
}

func (s *session) dropOldest() {
	s.forgot = true
	s.results--
	if len(s.groups) == 0 {
		s.bytes -= len(s.pending[0].raw)
		s.pending = s.pending[1:]
		return
	}
	g := s.groups[0]
	bit := bits.TrailingZeros64(g.used)
	s.bytes -= len(g.results[bit].raw)
	g.remove(bit)
	if g.used == 0 {
		s.groups = s.groups[1:]
	}
}

func (s *session) held() int {
	n := 0
	for _, g := range s.groups {
		n += 8*len(g.grams) + 2*g.size
	}
	return n + s.bytes
}
