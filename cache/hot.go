package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	hotSlots = 1024    // a power of two, used in pairs
	hotBytes = 2 << 10 // longer arguments are known again by their digest
)

// hot knows the questions of the last hits again by the bytes that asked them, so
// that these need not be read, and their answers without the store's lock. It
// takes at most 2 MiB for the questions; the answers are those of the store, and
// are let go as soon as anything is written to, forgotten or evicted there.
//
// Looking into it takes no lock; all else is done under the store's.
type hot struct {
	slots  [hotSlots]atomic.Pointer[question]
	seen   sightings
	second int         // 1 where the next to leave a full pair is its second
	filled []*question // those that have an answer
}

// A place is where a call's question is, or would be.
type place struct {
	hash uint64
	q    *question // nil where it is not there
}

// A question is what was asked, byte for byte.
type question struct {
	hash          uint64
	scope, server string
	definition    middleware.Digest // covers the tool's name
	raw           []byte            // nil where it is long
	sum           [sha256.Size]byte // of long arguments
	id            key

	answer atomic.Pointer[known]
	hits   atomic.Uint64 // since it has this answer

	// Room up to 256 bytes, so that two cores that count the hits of two questions
	// never do so in one cache line.
	_ [72]byte
}

// A known answer may be given until it expires.
type known struct {
	res     *mcp.CallToolResult
	expires time.Duration // by the store's clock
}

// of returns the place of a call's question.
func (h *hot) of(seed maphash.Seed, call *middleware.Call) place {
	begin := call.Arguments[:min(len(call.Arguments), hotBytes)]
	i := maphash.Bytes(seed, begin) ^ binary.LittleEndian.Uint64(call.Tool.Digest[:])
	i ^= bits.RotateLeft64(maphash.String(seed, call.Tool.Server), 21)
	if call.Scope != "" {
		i ^= bits.RotateLeft64(maphash.String(seed, call.Scope), 42)
	}
	at := place{hash: i}
	pair := h.slots[at.pair():][:2]
	for way := range pair {
		if q := pair[way].Load(); q != nil && q.hash == i && q.asks(call) {
			at.q = q
			break
		}
	}
	return at
}

// pair is where the two slots are of which it may have one, so that two questions
// that meet get on.
func (at *place) pair() int { return int(at.hash%hotSlots) &^ 1 }

// sightings are what was asked of late and has no slot. Each has two places, the later
// one first, so that two that meet get on.
type sightings [4 * hotSlots]uint32

// again reports whether the question with the hash was asked of late, and notes that it
// was.
func (s *sightings) again(hash uint64) bool {
	pair := s[hash>>32%uint64(len(s))&^1:][:2]
	as := uint32(hash)
	again := as == pair[0] || as == pair[1]
	if as != pair[0] {
		pair[0], pair[1] = as, pair[0]
	}
	return again
}

// put gives a question a slot, and returns the one that had it.
func (h *hot) put(at *place) (old *question) {
	pair := h.slots[at.pair():][:2]
	for way := range pair {
		if pair[way].CompareAndSwap(nil, at.q) {
			return nil
		}
	}
	h.second ^= 1
	return pair[h.second].Swap(at.q)
}

// asks reports whether the call asks exactly this.
func (q *question) asks(call *middleware.Call) bool {
	if q.definition != call.Tool.Digest || q.server != call.Tool.Server || q.scope != call.Scope {
		return false
	}
	if len(call.Arguments) > hotBytes {
		return q.raw == nil && q.sum == sha256.Sum256(call.Arguments)
	}
	return q.raw != nil && bytes.Equal(q.raw, call.Arguments)
}

func newQuestion(at place, call *middleware.Call, id key) *question {
	q := &question{hash: at.hash, scope: call.Scope, server: call.Tool.Server, definition: call.Tool.Digest, id: id}
	if len(call.Arguments) > hotBytes {
		q.sum = sha256.Sum256(call.Arguments)
	} else {
		q.raw = append(make([]byte, 0, len(call.Arguments)), call.Arguments...)
	}
	return q
}

// known returns the answer of a hot question, nil where it has to be looked up.
func (q *question) known(now time.Duration) *mcp.CallToolResult {
	if k := q.answer.Load(); k != nil && now < k.expires {
		q.hits.Add(1)
		return k.res
	}
	return nil
}

// warm keeps the answer that the store has found just now with its question, from
// the second time on: most questions are not asked again in the same bytes. The
// caller holds the store's mutex.
func (s *Store) warm(at place, call *middleware.Call, id key, e *entry) {
	if at.q == nil {
		if !s.hot.seen.again(at.hash) {
			return
		}
		at.q = newQuestion(at, call, id)
		if old := s.hot.put(&at); old != nil {
			s.cool(old)
		}
	}
	if len(s.hot.filled) == hotSlots { // some have lost their place
		s.coolAll()
	}
	if at.q.answer.Swap(&known{e.res, e.expires}) == nil {
		s.hot.filled = append(s.hot.filled, at.q)
	}
}

// cool takes a question's answer back.
func (s *Store) cool(q *question) {
	q.answer.Store(nil)
	s.count(q)
}

// count counts the hits of a question. Its entry has been used, so it goes last.
func (s *Store) count(q *question) {
	if hits := q.hits.Swap(0); hits > 0 {
		s.stats.Hits += hits
		s.kept.get(q.id.half())
	}
}

// coolAll does so with all of them: from here on nothing is answered but under the
// mutex, which the caller holds.
func (s *Store) coolAll() {
	for _, q := range s.hot.filled {
		s.cool(q)
	}
	clear(s.hot.filled)
	s.hot.filled = s.hot.filled[:0]
}
