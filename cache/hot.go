package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	hotSlots = 2048
	hotBytes = 2 << 10 // longer arguments are compared by their digest
)

// hot recognizes repeated calls by the bytes of their arguments, so that a hit needs neither the canonical form
// nor the store's lock. The questions take at most 4 MiB. The results are those of the store. They end with the
// next write to any server, and are dropped as soon as the store forgets or evicts a result.
//
// Slots and answers are read without a lock. Answers are written under the mutex of the
// shard that has the result, or taken from a question that has lost its slot.
type hot struct {
	seed  maphash.Seed
	slots [hotSlots]slot
}

// A slot holds one of the questions that have the same hash, modulo the slots.
type slot struct {
	question atomic.Pointer[question]
	seen     atomic.Uint64 // hash of the last hit that was not the question
}

// A question is a call that was repeated in the same bytes, with the result that answers it as long as nothing was
// written anywhere.
type question struct {
	hash          uint64
	scope, server string
	definition    middleware.Digest // covers the tool's name
	raw           []byte            // nil if it is long
	sum           [sha256.Size]byte // of long arguments
	id            digest

	answer atomic.Pointer[answer]
	hits   atomic.Uint64 // since it has this answer

	_ [72]byte // fills 256 bytes: two cores that count hits share no cache line
}

// An answer is a result that holds as long as the version is as.
type answer struct {
	res         *mcp.CallToolResult
	at, expires time.Duration // by the store's clock
	as          versions.Version
}

// A place is where the question of a call is or would be.
type place struct {
	slot     *slot
	hash     uint64
	question *question // nil if it is not there
}

func (h *hot) of(call *middleware.Call) place {
	begin := call.Arguments[:min(len(call.Arguments), hotBytes)]
	hash := maphash.Bytes(h.seed, begin) ^ binary.LittleEndian.Uint64(call.Tool.Digest[:])
	hash ^= bits.RotateLeft64(maphash.String(h.seed, call.Tool.Server), 21)
	if call.Scope != "" {
		hash ^= bits.RotateLeft64(maphash.String(h.seed, call.Scope), 42)
	}
	at := place{slot: &h.slots[hash%hotSlots], hash: hash}
	if q := at.slot.question.Load(); q != nil && q.hash == hash && q.asks(call) {
		at.question = q
	}
	return at
}

func (q *question) asks(call *middleware.Call) bool {
	if q.definition != call.Tool.Digest || q.server != call.Tool.Server || q.scope != call.Scope {
		return false
	}
	if len(call.Arguments) > hotBytes {
		return q.raw == nil && q.sum == sha256.Sum256(call.Arguments)
	}
	return q.raw != nil && bytes.Equal(q.raw, call.Arguments)
}

func newQuestion(hash uint64, call *middleware.Call, id digest) *question {
	q := &question{hash: hash, scope: call.Scope, server: call.Tool.Server, definition: call.Tool.Digest, id: id}
	if len(call.Arguments) > hotBytes {
		q.sum = sha256.Sum256(call.Arguments)
	} else {
		q.raw = append(make([]byte, 0, len(call.Arguments)), call.Arguments...)
	}
	return q
}

// result returns the answer to the question, nil if the store has to be asked, and when it was returned.
func (q *question) result(now time.Duration, as versions.Version) (res *mcp.CallToolResult, at time.Duration) {
	if a := q.answer.Load(); a != nil && now < a.expires && a.as == as {
		q.hits.Add(1)
		return a.res, a.at
	}
	return nil, 0
}

// warm keeps an answer that was just found with its question, from the second hit on: most calls are not
// repeated in the same bytes. The caller holds the shard's mutex.
func (s *shard) warm(at place, call *middleware.Call, id digest, a answer) {
	q := at.question
	if q == nil {
		if at.slot.seen.Swap(at.hash) != at.hash {
			return
		}
		q = newQuestion(at.hash, call, id)
		if old := at.slot.question.Swap(q); old != nil {
			old.answer.Store(nil) // its hits are counted by its own shard
		}
	}
	if len(s.filled) >= hotSlots { // some have lost their slot
		s.coolAll()
	}
	if kept := a; q.answer.Swap(&kept) == nil {
		s.filled = append(s.filled, q)
	}
}

func (s *shard) cool(q *question) {
	q.answer.Store(nil)
	s.count(q)
}

// count adds up the hits of a question, which make its entry the newest.
func (s *shard) count(q *question) {
	if hits := q.hits.Swap(0); hits > 0 {
		s.stats.Hits += hits
		s.list.Get(q.id.key())
	}
}

// coolAll drops all answers: every later hit needs the mutex, which the caller holds.
func (s *shard) coolAll() {
	for _, q := range s.filled {
		s.cool(q)
	}
	clear(s.filled)
	s.filled = s.filled[:0]
}
