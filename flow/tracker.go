package flow

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

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

// The index of a group of texts: for each hash of four bytes, which of 64 texts have them.
const (
	gramLen     = 4
	minGramBits = 9
	maxGramBits = 15
)

// A group is up to 64 results and the index of their texts.
type group struct {
	results [64]*result
	used    uint64 // a bit for each result that is there
	next    int    // bit
	size    int    // of their folded texts
	bits    int    // of the hash
	grams   []uint64
}

func newGroup() *group { return &group{bits: minGramBits, grams: make([]uint64, 1<<minGramBits)} }

func (g *group) gram(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - g.bits)
}

func (g *group) add(r *result) {
	bit := g.next
	g.next++
	g.results[bit], g.used = r, g.used|1<<bit
	g.size += len(r.text.Norm)
	if bits := g.bits; bits < maxGramBits && g.size > 4<<bits {
		for bits < maxGramBits && g.size > 2<<bits {
			bits++
		}
		g.bits, g.grams = bits, make([]uint64, 1<<bits)
		for bit, r := range g.results {
			if r != nil {
				g.index(r, bit)
			}
		}
		return
	}
	g.index(r, bit)
}

func (g *group) index(r *result, bit int) {
	norm, mark := r.text.Norm, uint64(1)<<bit
	for i := 0; i+gramLen <= len(norm); i++ {
		g.grams[g.gram(norm[i:])] |= mark
	}
}

// remove leaves the result's bit in the index: used has it no more, and no other result gets it.
func (g *group) remove(bit int) {
	g.size -= len(g.results[bit].text.Norm)
	g.results[bit], g.used = nil, g.used&^(1<<bit)
}

func (g *group) candidates(value []byte) uint64 {
	all := g.used
	for i := 0; i+gramLen <= len(value) && all != 0; i++ {
		all &= g.grams[g.gram(value[i:])]
	}
	return all
}

type walker struct {
	form  string
	at    int
	place []byte // of the leaf, such as "flights[0].date"
	// yield gets the name of the innermost member, and a string's content or a number as written.
	yield func(name, value string, isText bool)
}

// value yields the leaves of the value at a place of the form, which is canonical JSON.
func (w *walker) value(name string) {
	before := len(w.place)
	switch c := w.form[w.at]; c {
	case '{', '[':
		i := int64(0)
		for w.at++; w.form[w.at] != c+2; i++ { // as '}' and ']' are
			if w.form[w.at] == ',' {
				w.at++
			}
			if c == '[' {
				w.place = append(strconv.AppendInt(append(w.place, '['), i, 10), ']')
			} else {
				name = w.str()
				w.at++ // the colon
				if before > 0 {
					w.place = append(w.place, '.')
				}
				w.place = append(w.place, name...)
			}
			w.value(name)
			w.place = w.place[:before]
		}
		w.at++
	case '"':
		w.yield(name, w.str(), true)
	default:
		end := w.at + strings.IndexAny(w.form[w.at:], ",]}")
		if c == '-' || '0' <= c && c <= '9' {
			w.yield(name, w.form[w.at:end], false)
		}
		w.at = end
	}
}

func (w *walker) str() string {
	from, plain := w.at, true
	for w.at++; w.form[w.at] != '"'; w.at++ {
		if w.form[w.at] == '\\' {
			plain = false
			w.at++
		}
	}
	w.at++
	if plain {
		return w.form[from+1 : w.at-1]
	}
	var s string
	_ = json.Unmarshal([]byte(w.form[from:w.at]), &s) // it is canonical
	return s
}

type origin struct {
	from   string  // fromUser, fromHost, fromResult or fromNowhere
	result *result // of fromResult
	at     int     // where its text has the value, in folded form
	len    int
	how    string // "" if it is there verbatim
	whole  bool   // it is a whole field of a result of the same server, which offers it
}

const (
	fromUser    = "user"
	fromHost    = "host"
	fromResult  = "result"
	fromNowhere = "unknown"
)

type lookup struct {
	s      *session
	host   []*folded.Text
	server string
	kind   Kind
	raw    string
	norm   []byte
}

// The lengths, in folded bytes, of the shortest value that is searched, the shortest that may be a part of a
// word, the shortest part of a value that came in two, and the shortest passage.
const (
	minValue   = 3
	minInside  = 6
	minPart    = 4
	minSplit   = 10
	minPassage = 12
	maxFields  = 16   // places of a value that are looked at for a field
	maxCompare = 1024 // of a longer value its beginning is looked for
)

func (l *lookup) origin() origin {
	n := len(l.norm)
	switch {
	case n > 0 && slices.ContainsFunc(l.s.user, l.said):
		return origin{from: fromUser}
	case n > 0 && slices.ContainsFunc(l.host, l.said):
		return origin{from: fromHost}
	case n < minValue:
		return origin{from: fromNowhere}
	}
	l.s.settle()
	o := l.search(l.norm[:min(n, maxCompare)], "")
	if o.result == nil && n >= minInside {
		l.s.backwards = folded.Backwards(l.s.backwards[:0], l.norm[max(0, n-maxCompare):])
		o = l.search(l.s.backwards, "written backwards")
	}
	if o.result == nil && n >= minPart {
		for _, part := range folded.Decode(l.raw, 2) {
			if norm := folded.New(part.Text, false).Norm; len(norm) >= minPart {
				o = l.search(norm, "encoded")
			}
			if o.result != nil {
				break
			}
		}
	}
	if o.result == nil {
		o = l.split()
	}
	if o.result == nil && n >= minPart && (l.kind == Text || l.kind == Command || n > 4*minPassage) {
		o = l.passage()
	}
	o.from = cmp.Or(o.from, fromNowhere)
	return o
}

// said reports whether a text has the value as whole words; an address may differ in case and blanks alone.
func (l *lookup) said(t *folded.Text) bool {
	for from, tries := 0, 0; tries < folded.MaxTries; tries++ {
		at := t.Find(l.norm, true, from)
		if at < 0 || !t.Edge(at) || !t.Edge(at+len(l.norm)) {
			break
		}
		if !l.kind.exact() || t.Alone(at, len(l.norm)) && squash(t.Part(at, len(l.norm))) == squash(l.raw) {
			return true
		}
		from = at + 1
	}
	if l.kind != URL {
		return false
	}
	host := hostOf(l.raw)
	return host != "" && strings.Contains(" "+strings.Join(strings.FieldsFunc(strings.ToLower(t.Raw), func(r rune) bool {
		return r != '.' && r != '-' && r != ':' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")+" ", " "+strings.ToLower(host)+" ")
}

// squash returns a text without case, blanks, quotes, and what an address may go without.
func squash(s string) string {
	s = strings.ToLower(s)
	for _, optional := range []string{"https://", "http://", "mailto:"} {
		s = strings.TrimPrefix(s, optional)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune(`"'<>`, r) {
			return -1
		}
		return r
	}, strings.Trim(s, "/.,;:!?()[]"))
}

// search returns the first result that has a folded value: a trusted one, then a field that the server offers.
func (l *lookup) search(norm []byte, how string) (best origin) {
	short := len(norm) < minInside || len(bytes.Trim(norm, "0123456789")) == 0
	for _, g := range l.s.groups {
		for all := g.candidates(norm); all != 0; all &= all - 1 {
			r := g.results[bits.TrailingZeros64(all)]
			if l.s.budget -= len(r.text.Norm); l.s.budget < 0 {
				return best
			}
			at := r.text.Find(norm, short, 0)
			if at < 0 {
				continue
			}
			o := origin{from: fromResult, result: r, at: at, len: len(norm), how: how}
			if at >= r.text.Own {
				o.how = "encoded"
			}
			if how == "" && r.tool.Server == l.server {
				for next, n := at, 0; next >= 0 && !o.whole && n < maxFields; n++ {
					o.whole = r.text.Field(next, len(norm))
					next = r.text.Find(norm, short, next+1)
				}
			}
			if r.trusted {
				return o
			}
			if best.result == nil {
				best = o
			} else if o.whole {
				best.whole = true
			}
		}
	}
	return best
}

// split returns where the two parts of a value came from: of one result with both, otherwise of two, and then the
// longer part counts. Two parts of a free text count only in one result.
func (l *lookup) split() (found origin) {
	shortest, least := minPart, minSplit
	if l.kind == Text {
		shortest, least = 2*minPart, 2*minSplit
	}
	if len(l.norm) < least || len(l.norm) > 256 {
		return origin{}
	}
	for cut := min(l.longest(), len(l.norm)-shortest); cut >= shortest; cut-- {
		first := l.search(l.norm[:cut], "in two parts")
		if first.result == nil || !first.result.text.Edge(first.at) {
			continue
		}
		second := l.search(l.norm[cut:], "in two parts")
		switch {
		case second.result == nil || !second.result.text.Edge(second.at+second.len):
		case first.result == second.result:
			return first
		case found.result == nil && l.kind != Text:
			if found = first; cut < len(l.norm)-cut {
				found = second
			}
		}
	}
	return found
}

// longest returns the length of the longest beginning of the value that a result may have.
func (l *lookup) longest() int {
	most := 0
	for _, g := range l.s.groups {
		all := g.used
		for i := 0; i+gramLen <= len(l.norm); i++ {
			if all &= g.grams[g.gram(l.norm[i:])]; all == 0 {
				break
			}
			most = max(most, i+gramLen)
		}
	}
	return most
}

// passage returns where the first sentence or line of a longer text was copied from.
func (l *lookup) passage() origin {
	for passage := range strings.FieldsFuncSeq(l.raw, func(r rune) bool { return strings.ContainsRune(".!?\n;,:|", r) }) {
		if l.s.budget < 0 {
			break
		}
		norm := l.s.passage.Set(passage)
		if len(norm) < minPassage || len(norm) == len(l.norm) {
			continue
		}
		mine := lookup{l.s, l.host, l.server, Text, passage, norm}
		if slices.ContainsFunc(l.s.user, mine.said) {
			continue
		}
		if o := l.search(norm[:min(len(norm), maxCompare)], "in part"); o.result != nil {
			o.whole = false
			return o
		}
	}
	return origin{}
}
