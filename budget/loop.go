package budget

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rounds is what counts as a loop.
type rounds struct {
	repeats int
	pause   time.Duration
}

const (
	longest = 4 // calls that may take turns in a loop
	patient = 5 // times as often where the answers differ
)

// An entry is one call that was made.
type entry struct {
	call, answer uint64
	at           time.Duration // by the ledger's clock
	back         bool
}

// A history is the last calls of a session, in the order in which they began.
type history struct {
	ring []entry // a power of two of them, so that a place is found without a division
	made int64   // all that there were
}

// nth returns the nth call before the next one, from 1, nil where it is forgotten.
func (h *history) nth(n int) *entry {
	if n > len(h.ring) || int64(n) > h.made {
		return nil
	}
	return h.at(h.made - int64(n))
}

// at returns the entry of a place.
func (h *history) at(place int64) *entry { return &h.ring[place&int64(len(h.ring)-1)] }

// begin notes a call that is made now.
func (h *history) begin(r rounds, call uint64, now time.Duration) (place int64) {
	if most := max(longest, patient) * r.repeats; len(h.ring) < most {
		h.grow(most)
	}
	*h.at(h.made) = entry{call: call, at: now}
	h.made++
	return h.made - 1
}

// grow makes room for that many, or more, as when another chain with more patience
// shares the ledger.
func (h *history) grow(most int) {
	old := *h
	h.ring = make([]entry, 1<<bits.Len(uint(most-1)))
	for place := max(0, h.made-int64(len(old.ring))); place < h.made; place++ {
		*h.at(place) = *old.at(place)
	}
}

// end notes its answer, unless it is forgotten already.
func (h *history) end(place int64, answer uint64) {
	if h.made-place <= int64(len(h.ring)) {
		e := h.at(place)
		e.answer, e.back = answer, true
	}
}

// loop says whether the next call goes on with a loop, and is too soon. Calls take
// turns with a period; in each the same call has had the same answer every time.
func (h *history) loop(r rounds, call uint64, now time.Duration) *StoppedError {
	for period := 1; period <= longest; period++ {
		before := h.nth(period) // what would be the same call
		if before == nil || before.call != call || now-before.at >= r.pause {
			continue
		}
		again := &StoppedError{Reason: Loop, Turns: period, After: r.pause - (now - before.at)}
		if same := h.run(period, true); same >= period*r.repeats {
			again.Times, again.SameAnswer = same/period, true
			return again
		}
		if period == 1 { // with whatever answers, and then none of the longer ones
			if again.Times = h.run(1, false); again.Times >= patient*r.repeats {
				return again
			}
			if again.Times >= longest {
				return nil
			}
		}
	}
	return nil
}

// run returns how many of the last calls repeat each other with the period.
func (h *history) run(period int, answers bool) int {
	n := period
	for {
		later, earlier := h.nth(n-period+1), h.nth(n+1)
		if earlier == nil || later.call != earlier.call || answers && (!later.back || !earlier.back || later.answer != earlier.answer) {
			return n
		}
		n++
	}
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled keeps one long text from pinning its buffer for good.
const maxPooled = 4 << 20

// identity is a digest of which call it is: of which tool, with which arguments,
// however they are written.
func (l *Ledger) identity(ctx context.Context, call *middleware.Call) uint64 {
	as := maphash.Bytes(l.seed, call.Arguments)
	if tool := call.Tool; tool != nil {
		as ^= bits.RotateLeft64(maphash.String(l.seed, tool.Server), 21)
		if tool.Digest != (middleware.Digest{}) { // it covers the name
			as ^= binary.LittleEndian.Uint64(tool.Digest[:])
		} else {
			as ^= bits.RotateLeft64(maphash.String(l.seed, tool.Name()), 42)
		}
	}
	if meant, ok := l.written.load(as); ok {
		return meant
	}
	meant := l.meaning(ctx, call)
	l.written.store(as, meant)
	return meant
}

// spellings are the calls of late, by how they were written. Each has two places, the
// later one first, so that two that meet get on.
type spellings [1024]spelling

func (l *spellings) pair(as uint64) []spelling {
	first := as % uint64(len(l)) &^ 1
	return l[first:][:2]
}

func (l *spellings) load(as uint64) (call uint64, ok bool) {
	pair := l.pair(as)
	if call, ok = pair[0].load(as); ok {
		return call, true
	}
	return pair[1].load(as)
}

func (l *spellings) store(as, call uint64) {
	pair := l.pair(as)
	pair[1].copy(&pair[0])
	pair[0].store(as, call)
}

// A spelling is one way to write a call, so that what comes again in the same bytes
// need not be read again. Its two halves are written without a lock: where they are
// of two calls, they fit neither (as in the transposition tables of chess programs).
type spelling struct{ mixed, call atomic.Uint64 }

func (s *spelling) load(as uint64) (call uint64, ok bool) {
	call = s.call.Load()
	return call, s.mixed.Load()^call == as
}

func (s *spelling) store(as, call uint64) {
	s.call.Store(call)
	s.mixed.Store(as ^ call)
}

func (s *spelling) copy(from *spelling) {
	s.call.Store(from.call.Load())
	s.mixed.Store(from.mixed.Load())
}

// meaning is the digest of a call, however its arguments are written.
func (l *Ledger) meaning(ctx context.Context, call *middleware.Call) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	if call.Tool != nil {
		text(&h, call.Tool.Server)
		text(&h, call.Tool.Name())
	}
	buffer := buffers.Get().(*[]byte)
	form, err := callstate.AppendForm((*buffer)[:0], callstate.Of(ctx), call)
	if err != nil {
		form = append(form[:0], call.Arguments...)
	}
	_, _ = h.Write(form)
	if cap(form) <= maxPooled {
		*buffer = form
		buffers.Put(buffer)
	}
	return h.Sum64()
}

// text writes a text and its length, so that no two lists of texts are the same.
func text(h *maphash.Hash, s string) {
	maphash.WriteComparable(h, len(s))
	_, _ = h.WriteString(s)
}

// answer is a digest of what came back. One that cannot be read is like no other.
func (l *Ledger) answer(res *mcp.CallToolResult, err error) uint64 {
	if err == nil && res != nil && !res.IsError && len(res.Content) == 1 && res.StructuredContent == nil {
		if t, ok := res.Content[0].(*mcp.TextContent); ok { // as most are
			return maphash.String(l.seed, t.Text)
		}
	}
	var h maphash.Hash
	h.SetSeed(l.seed)
	switch {
	case err != nil:
		text(&h, "error")
		text(&h, err.Error())
	case res != nil:
		maphash.WriteComparable(&h, res.IsError)
		for _, c := range res.Content {
			if t, ok := c.(*mcp.TextContent); ok {
				text(&h, t.Text)
			} else {
				l.value(&h, c)
			}
		}
		if res.StructuredContent != nil {
			l.value(&h, res.StructuredContent)
		}
	}
	return h.Sum64()
}

func (*Ledger) value(h *maphash.Hash, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		maphash.WriteComparable(h, math.NaN()) // never the same
		return
	}
	text(h, string(raw))
}
