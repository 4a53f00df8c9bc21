package waiting

import (
	"sync"
	"time"
)

// Held are questions that are open while no call waits for them, by a key. The zero value is ready.
type Held[Q any] struct {
	mu sync.Mutex
	by map[any]*held[Q]
}

type held[Q any] struct {
	question Q
	timer    *time.Timer
}

// Hold keeps a question until somebody takes it. It calls end if nobody has by then.
func (h *Held[Q]) Hold(key any, question Q, until time.Time, end func()) {
	one := &held[Q]{question: question}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = make(map[any]*held[Q])
	}
	h.by[key] = one
	one.timer = time.AfterFunc(time.Until(until), func() {
		h.mu.Lock()
		if h.by[key] == one {
			delete(h.by, key)
		}
		h.mu.Unlock()
		end()
	})
}

// Peek returns the question that is kept under a key.
func (h *Held[Q]) Peek(key any) (question Q, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.by[key]; one != nil {
		return one.question, true
	}
	return question, false
}

// Take returns the question that is kept under a key, once.
func (h *Held[Q]) Take(key any) (question Q, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.by[key]
	if one == nil {
		return question, false
	}
	delete(h.by, key)
	return one.question, one.timer.Stop()
}
