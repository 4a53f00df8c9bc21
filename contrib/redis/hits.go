package redis

// Most questions are asked again soon. A recent hit is remembered with the command that reads it, a plain MGET of the
// value and its tokens, which is much cheaper for Redis than a script. Slots are found by the question's hash, and a new
// hit takes the place of another one: a miss here costs a script, and nothing else.

import (
	"crypto/sha256"
	"slices"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/cache"
)

// Hits holds recent hits, each with its plain read, ready to be sent.
type hits struct {
	slots [4096]atomic.Pointer[hit]
}

type hit struct {
	q       cache.Read
	place   string
	command []any // MGET of the value and its tokens
}

func (h *hits) slot(id [sha256.Size]byte) *atomic.Pointer[hit] {
	return &h.slots[(int(id[0])<<8|int(id[1]))%len(h.slots)]
}

// of returns the recent hit of a question, nil if there is not one.
func (h *hits) of(q cache.Read) *hit {
	known := h.slot(q.ID).Load()
	if known == nil || known.q.ID != q.ID || known.q.Server != q.Server || !slices.Equal(known.q.Entities, q.Entities) {
		return nil
	}
	return known
}

// add remembers a hit. keys are those of remote.keys; a plain read needs no flight.
func (h *hits) add(q cache.Read, keys []string) {
	command := []any{"mget", keys[0]}
	for _, token := range keys[2:] {
		command = append(command, token)
	}
	q.Entities = slices.Clone(q.Entities)
	h.slot(q.ID).Store(&hit{q, keys[0], command})
}
