package sim

// The checks of a call as a server gets it, on the server's side of the chain: is it approved, does it come once, in
// time, and within the rate?

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// handOver records that a server has a call, and checks that it may have it.
func (w *scenario) handOver(ctx context.Context, at *session, params *mcp.CallToolParams) (*exec, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	server := at.name
	id, _ := params.Meta[traceKey].(string)
	r := w.calls[id]
	if r == nil {
		r = w.order[0]
		w.badf("I15", r, "a call with unknown metadata was sent: %v", params.Meta)
	}
	bytes, _ := params.Arguments.(json.RawMessage)
	sent := string(bytes)
	e := &exec{n: len(w.execs), call: r, server: server, replica: at.replica, start: time.Now(), meaning: w.meaningOf(r, sent)}
	if e.lot = e.n; w.alike != nil { // whichever of two calls of one instant comes first
		e.lot = 100*r.n + len(r.execs)
	}
	if seen, ok := ctx.Value(seenKey{}).(*middleware.Call); ok {
		e.scope, e.digest = seen.Scope, seen.Tool.Digest
	}
	accepted, ok := w.tools.Lookup(server, params.Name)
	if ok {
		e.revision = revisionOf(accepted.Definition)
	}
	e.law = w.lawOf(r, server, e.revision, sent)
	var latency time.Duration
	e.fault, latency = w.drawFault(r, len(r.execs), at.replica)
	e.text = withoutStrange(fmt.Sprintf("%d: %v %s", e.n, r, sent))
	if w.settings.shown && e.lot%3 == 0 {
		e.text += long
	}
	w.say(r.id, "executes", fmt.Sprintf("%d %s %v %v %s", e.n, server, e.fault, e.law, sent))

	// A middleware of the host may go round the cache, as long as no approval is needed.
	if r.rogue == honest || e.law == asks {
		w.checkConsent(r, e, sent)
		w.checkOnce(r, e)
		w.checkRepeated(r, e, sent)
		w.checkPatience(r, e)
		w.checkTime(ctx, r, e)
		if !ok || accepted.Digest != r.digest || params.Name != r.tool.name {
			w.badf("I7", r, "was sent after its definition was no longer accepted")
		}
		w.checkStampede(r)
		w.checkIntended(r, e)
		w.checkPinned(r, e)
	}
	w.checkPlace(r, e)
	if e.law != reads && r.law != reads && r.rogue != kinder {
		w.writes[server] = append(w.writes[server], w.names(server, r.tool.name, sent))
	}
	e.epoch = len(w.writes[server])
	w.execs = append(w.execs, e)
	r.execs = append(r.execs, e)
	return e, latency
}

func (w *scenario) over(e *exec) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.end = time.Now()
	if at, until := (place{e.call.server, e.call.tool.name}), e.end.Add(e.after+e.after/2); e.after > 0 && until.After(w.pauses[at]) {
		w.pauses[at] = until
	}
	w.say(e.call.id, "executed", fmt.Sprintf("%d %v", e.n, e.fault))
}

// meaningOf returns the meaning of the bytes, -1 for foreign ones.
func (w *scenario) meaningOf(r *record, sent string) int {
	if sent == r.text {
		return r.meaning
	}
	return slices.IndexFunc(arguments, func(texts []string) bool { return slices.Contains(texts, sent) })
}

// checkConsent checks I1, I13 and I15. A call that needs an approval has an unexpired one for exactly
// this; its bytes are those that the caller passed or the person approved.
func (w *scenario) checkConsent(r *record, e *exec, sent string) {
	want := r.text
	if r.yes != nil {
		want = r.yes.bytes
	}
	if sent != want && (r.yes == nil || e.law == asks || r.rogue == honest) {
		w.badf("I15", r, "was sent as %s and not as %s", sent, want)
	}
	if r.bad {
		w.badf("I3", r, "was sent with ambiguous arguments")
	}
	if e.law != asks && r.law != asks {
		return
	}
	yes := r.yes
	switch {
	case yes == nil && e.scope == r.scope && e.server == r.server && r.ended.IsZero() && w.stands(question{w.effectOf(r, sent), r.digest, r.narrow}, e.start):
	case yes == nil:
		w.badf("I1", r, "was executed without an approval")
	case e.scope != r.scope:
		w.badf("I1", r, "was executed for %q, and approved for %q", e.scope, r.scope)
	case e.server != r.server:
		w.badf("I1", r, "was executed at %s, and approved for %s", e.server, r.server)
	case e.law == asks && !e.start.Before(yes.at.Add(w.settings.lifetime)):
		w.badf("I1", r, "was executed %v after its approval, which had expired", e.start.Sub(yes.at))
	case !r.ended.IsZero():
		w.badf("I1", r, "was executed after it had returned")
	}
}

// checkOnce checks I2: a call that may have happened is not sent again, unless the law allows it.
func (w *scenario) checkOnce(r *record, e *exec) {
	if e.law < writes || r.law < writes && e.law < asks {
		return
	}
	if before := r.delivered(); before != nil {
		w.badf("I2", r, "is executed again, after execution %d (%v)", before.n, before.fault)
	}
}

// checkPatience checks I11: a call waits as long as its server asked.
func (w *scenario) checkPatience(r *record, e *exec) {
	last := r.last()
	if last == nil || r.rogue != honest || last.replica != e.replica {
		return
	}
	if early := last.end.Add(last.after).Sub(e.start); early > time.Microsecond {
		w.badf("I11", r, "is sent %v before the server wanted to be called again", early)
	}
}

// checkTime checks I9: no call is sent after its time, or without a limit.
func (w *scenario) checkTime(ctx context.Context, r *record, e *exec) {
	deadline, ok := ctx.Deadline()
	switch {
	case ctx.Err() != nil:
		w.badf("I9", r, "was sent with a context that is done")
	case !ok || deadline.Sub(e.start) > attemptTimeout:
		w.badf("I9", r, "was sent without the time limit of an attempt")
	case !e.start.Before(deadline) || !r.deadline.IsZero() && !e.start.Before(r.deadline):
		w.badf("I9", r, "was sent at its deadline or after it")
	case r.law != reads && !r.cancelled.IsZero():
		w.badf("I9", r, "was sent after it had been cancelled")
	case r.law == reads && !r.ended.IsZero() && !w.awaited(r, e):
		w.badf("I19", r, "was sent when no caller waited for it")
	}
}

// awaited reports whether a caller waits for the result of this call.
func (w *scenario) awaited(r *record, e *exec) bool {
	return slices.ContainsFunc(w.order, func(o *record) bool {
		return o != r && o.asksTheSame(r) && o.live(e.start)
	})
}

func (r *record) asksTheSame(o *record) bool {
	if (r.lowered() && r.rogue != honest) || (o.lowered() && o.rogue != honest) {
		return false
	}
	return r.law == reads && o.law == reads && r.scope == o.scope && r.server == o.server && r.tool == o.tool && r.digest == o.digest && r.meaning == o.meaning
}

func (r *record) endsBefore(o *record) bool {
	return !r.deadline.IsZero() && (o.deadline.IsZero() || r.deadline.Before(o.deadline))
}

// askedForInput reports whether a server has asked for input since then.
func (r *record) askedForInput(since time.Time) bool {
	return slices.ContainsFunc(r.execs, func(e *exec) bool { return e.fault == asksInput && !e.end.Before(since) })
}

// checkStampede: I14. A read is not made while the same one is in flight that began before it, ends
// no earlier, and is of the same generation.
func (w *scenario) checkStampede(r *record) {
	if r.law != reads || len(r.execs) > 0 || r.overlaps {
		return
	}
	if r.tool.byName != reads {
		return // it is volatile, because no hint gives its freshness, and not shared
	}
	var under *record
	for _, o := range w.order {
		waited := o.turn != nil && (o.passes == 0 || o.entered.After(r.entered)) // for its place in its turn
		if o != r && o.asksTheSame(r) && o.askedForInput(r.entered) {
			return // r may have waited for it, and such an answer is not shared
		}
		if o == r || !o.asksTheSame(r) || o.begun.IsZero() || !o.begun.Before(r.entered) || waited {
			continue
		}
		if !o.live(r.entered) {
			if o.ended.After(r.entered.Add(-time.Minute)) {
				return // the calls that it left behind are unknown
			}
			continue
		}
		if under != nil {
			return
		}
		under = o
	}
	if under == nil || under.overlaps || under.endsBefore(r) {
		return
	}
	if under.entered.Equal(r.entered) && r.endsBefore(under) {
		return // r may have been the first of the two, and too short for the other
	}
	if last := under.last(); !under.live(time.Now()) || last != nil && last.fault == asksInput {
		return // a request for input is not shared
	}
	for _, at := range w.writeEvents[r.server] {
		if !at.Before(under.entered) && !at.After(r.entered) {
			return
		}
	}
	w.badf("I14", r, "is executed while %v is under way", under)
}

// A bucketKey names a token bucket of the calls that were let through, without those that left.
type bucketKey struct{ scope, server, tool string }

const slack = 1e-6

// checkRate: I11. No call passes without a token, and none waits while there is one.
func (w *scenario) checkRate(r *record, call middleware.Call) {
	now := time.Now()
	if s := w.settings; s.perMinute > 0 {
		have := w.take(now, bucketKey{call.Scope, call.Tool.Server, ""}, s.perMinute, s.burst)
		switch {
		case have < 1-slack:
			w.badf("I11", r, "was let through with %.6f tokens", have)
		case have > 1+slack && w.waited(r, now):
			w.badf("I11", r, "waited %v while there were %.6f tokens", now.Sub(r.entered), have)
		}
	}
	if w.hinted(call.Tool.Server, call.Tool.Name()) {
		have := w.take(now, bucketKey{call.Scope, call.Tool.Server, call.Tool.Name()}, hintPerMinute, 1)
		if have < 1-slack {
			w.badf("I11", r, "was let through with %.6f tokens of its tool", have)
		}
	}
}

// waited reports whether the call certainly had to wait at the rate limit, and nowhere before it.
func (w *scenario) waited(r *record, now time.Time) bool {
	if r.law == reads && r.meaning < distinctMeanings {
		return false
	}
	if r.entered.Before(w.pauses[place{r.server, r.tool.name}]) {
		return false
	}
	return r.attempts == 1 && r.passes == 1 && r.rogue == honest && r.entered.Before(now) && !w.hinted(r.server, r.tool.name)
}

// take takes a token from a bucket, and returns how many it had.
func (w *scenario) take(now time.Time, k bucketKey, perMinute float64, burst int) (had float64) {
	b := w.buckets[k]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(perMinute/60), burst)
		w.buckets[k] = b
	}
	had = b.TokensAt(now)
	b.ReserveN(now, 1)
	return had
}
