package budget

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	longest = 4 // calls that may take turns in a loop
	patient = 5 // times as often where the answers differ
)

// An entry is one call of a history.
type entry struct {
	tool    *middleware.Tool
	written uint64 // a digest of the arguments
	call    uint64 // a digest of the call, however its arguments are written
	answer  uint64
	at      time.Duration // by the ledger's clock
	back    bool
	denied  bool // it was not approved
}

// A history has the last calls of a session, in the order that they began in. A loop is its end repeating itself with
// a period of one to four calls: each call is the same as the one a period before and had the same answer. A call in
// flight has no answer yet that could be the same. One call that is repeated with other answers may be polling, and
// gets five times as many repeats.
type history struct {
	last []entry
	made int // all that there were
	most int // that a loop can have
}

// nth returns the nth call before the next one, from 1, nil if it is forgotten.
func (h *history) nth(n int) *entry {
	if n > len(h.last) {
		return nil
	}
	return &h.last[len(h.last)-n]
}

// begin notes a call. Chains that share the ledger may differ in how many calls they look back.
func (h *history) begin(repeats int, e entry) (place int) {
	h.most = max(h.most, max(longest, patient)*repeats)
	if len(h.last) >= 2*h.most {
		h.last = slices.Delete(h.last, 0, len(h.last)-h.most)
	}
	h.last = append(h.last, e)
	h.made++
	return h.made - 1
}

// end notes its answer, unless it is forgotten already.
func (h *history) end(place int, answer uint64, denied bool) {
	if e := h.nth(h.made - place); e != nil {
		e.answer, e.back, e.denied = answer, true, denied
	}
}

// loop returns an error if the next call goes on with a loop too soon: one or more calls in turn, with one answer each.
func (h *history) loop(o *Options, call uint64, now time.Duration) *StoppedError {
	for period := 1; period <= longest; period++ {
		before := h.nth(period) // what would be the same call
		if before == nil || before.call != call || now-before.at >= o.Pause {
			continue
		}
		again := &StoppedError{Reason: Loop, Turns: period, After: o.Pause - (now - before.at), Denied: before.denied}
		if same := h.run(period, true); same >= period*o.Repeats {
			again.Times, again.SameAnswer = same/period, true
			return again
		}
		if period == 1 { // with whatever answers, and then none of the longer ones
			if again.Times = h.run(1, false); again.Times >= patient*o.Repeats {
				return again
			}
			if again.Times >= longest {
				return nil
			}
		}
	}
	return nil
}

// run returns how many of the last calls repeat with the period, its first round included.
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

// identity is a digest of the call, however its arguments are written.
func (h *history) identity(state *callstate.State, seed maphash.Seed, this entry, call *middleware.Call) uint64 {
	for i := len(h.last) - 1; i >= 0; i-- {
		if e := &h.last[i]; e.tool == this.tool && e.written == this.written {
			return e.call
		}
	}
	hash := this.written // of arguments that are not a JSON object
	var names [2]string
	if call.Tool != nil {
		names = [2]string{call.Tool.Server, call.Tool.Name()}
		if form, err := callstate.FormHash(state, call); err == nil {
			hash = form
		}
	}
	return maphash.Comparable(seed, names) ^ hash
}

func text(h *maphash.Hash, s string) { // with its length, so that no two lists of texts are the same
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
				value(&h, c)
			}
		}
		if res.StructuredContent != nil {
			value(&h, res.StructuredContent)
		}
	}
	return h.Sum64()
}

func value(h *maphash.Hash, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		maphash.WriteComparable(h, math.NaN()) // never the same
	}
	text(h, string(raw))
}
