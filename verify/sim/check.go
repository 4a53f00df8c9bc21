package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/doubt"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// begin records the call's law, and checks the class that the catalog gave its tool.
func (w *scenario) begin(r *record, tool *middleware.Tool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.begun = time.Now()
	r.revision = revisionOf(tool.Definition)
	r.digest = tool.Digest
	r.static = w.policy.law(r.server, r.tool, r.revision)
	r.trusted = w.policy.trusted[r.server]
	r.law = w.lawOf(r, r.server, r.revision, r.text)
	r.epoch = len(w.writes[r.server])
	w.say(r.id, "begins", fmt.Sprintf("%q %s/%s@%d %s %s %v", r.scope, r.server, r.tool.name, r.revision, r.text, r.law, r.rogue))
	if !r.static.Agrees(tool.Annotations) {
		w.badf("I5", r, "is %v and must be under the law %q", tool.Safety(), r.static)
	}
}

// gone records that the call never returned, since its goroutine ended.
func (w *scenario) gone(r *record, panicked any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.ended = time.Now()
	w.say(r.id, "ended its goroutine", "")
	if panicked != nil || !slices.ContainsFunc(r.execs, func(e *exec) bool { return e.fault == goexit }) {
		w.badf("contract", r, "ended its goroutine: %v", panicked)
	}
	r.counts = true
	w.loses(r)
	w.checkRecorded(r, nil, errGone)
}

func (w *scenario) end(ctx context.Context, r *record, res *mcp.CallToolResult, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.ended = time.Now()
	w.say(r.id, "returns", outcome(res, err))
	if (res == nil) == (err == nil) {
		w.badf("contract", r, "returned %v and %v", res, err)
		return
	}
	if w.settings.shown {
		if res, err = w.checkShown(ctx, r, res, err); res == nil && err == nil {
			return
		}
	}
	w.checkHeld(r, res, err)
	w.checkRecorded(r, res, err)
	w.checkBudget(r, err)
	w.checkPrompt(r)
	if err != nil {
		w.checkError(ctx, r, err)
		return
	}
	w.checkAnswer(r, res)
}

func outcome(res *mcp.CallToolResult, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case len(res.Content) > 0:
		if text, ok := res.Content[0].(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return "an answer without text"
}

// checkPrompt: I9 and I10. A call is back when its context ends, unless a server ignores its own,
// and it never waits for its end in vain.
func (w *scenario) checkPrompt(r *record) {
	limit := r.limit()
	if limit.IsZero() || r.ended.Before(limit) {
		return
	}
	deaf := r.rogue == twins || r.rogue == doubles || slices.ContainsFunc(r.execs, func(e *exec) bool { return e.fault == stubborn })
	if r.ended.After(limit) && !deaf {
		w.badf("I9", r, "was back %v after its end", r.ended.Sub(limit))
	}
	if r.ended.Equal(r.deadline) && r.rogue == honest && !w.occupied(r) {
		w.badf("I10", r, "waited for its deadline in vain")
	}
}

// occupied reports whether the call had a reason to stay until its deadline: it was executed, it
// waited for a person or for another's answer, or its tool has a rate limit of its own.
func (w *scenario) occupied(r *record) bool {
	if last := r.last(); last != nil && (last.end.IsZero() || last.end.Equal(r.ended)) {
		return true
	}
	if r.asked > 0 && r.passes == 0 || r.law == reads && r.meaning < distinctMeanings {
		return true
	}
	if (r.law == asks || (w.settings.careful || w.settings.doubted) && r.law != reads) && r.asked == 0 && len(r.execs) == 0 && r.meaning < distinctMeanings {
		return true // it waited for the answer to another call's equal question
	}
	return w.hinted(r.server, r.tool.name) || r.passes == 0 && r.hasItsTurn()
}

func (w *scenario) hinted(server, tool string) bool {
	return w.settings.hinted && server == liar && tool == "get_note"
}

// checkError checks that an error is the call's own, and true.
func (w *scenario) checkError(ctx context.Context, r *record, err error) {
	if end, ok := errors.AsType[*endError](err); ok && end.call != r.id {
		w.badf("I8", r, "got the end of another call: %v", err)
	}
	over := ctx.Err() != nil || !r.deadline.IsZero() && !r.ended.Before(r.deadline)
	if errors.Is(err, context.Canceled) && !over {
		w.badf("I8", r, "was cancelled by another call's context: %v", err)
	}
	if _, own := errors.AsType[*timeout.Error](err); errors.Is(err, context.DeadlineExceeded) && !own && !over {
		w.badf("I8", r, "got a deadline that is not its own: %v", err)
	}
	if e, ok := errors.AsType[*serverError](err); ok && e.exec.call != r && e.exec.end.Before(r.begun) {
		w.badf("I3", r, "got a cached error, of execution %d", e.exec.n)
	}
	if r.rogue != honest || r.law == reads {
		return
	}
	last := r.last()
	if last == nil || last.law == reads { // the host may have changed its policy meanwhile
		return
	}
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); !unknown && last.open() {
		w.badf("I2", r, "may have happened, and the error does not state the doubt: %v", err)
	}
	if e := r.delivered(); e != nil && middleware.NotSent(err) {
		w.badf("I2", r, "reports that it was not sent, and execution %d was: %v", e.n, err)
	}
}

// open reports whether the outcome of the execution is unknown to callers.
func (e *exec) open() bool {
	return slices.Contains([]fault{failed, dropped, neither, panicked}, e.fault)
}

// checkAnswer checks that an answer is the call's own, and fresh.
func (w *scenario) checkAnswer(r *record, res *mcp.CallToolResult) {
	e := w.answerOf(r, res)
	if e == nil {
		return
	}
	w.checkSeen(r, e)
	if r.rogue != honest && (r.law == asks && e.law != asks || r.lowered()) {
		return // the host sent its call to another tool, which needs no approval
	}
	if e.call != r {
		w.checkShared(r, res, e)
	}
	if e.epoch < r.epoch && e.server == r.server && touch(w.writes[r.server][e.epoch:r.epoch], w.names(r.server, r.tool.name, r.text)) {
		w.badf("I4", r, "got execution %d, after which %d writes had gone out before it began", e.n, r.epoch-e.epoch)
	}
	if r.rogue == honest && r.law >= writes && e.law >= writes {
		delivered := 0
		for _, x := range r.execs {
			if x.delivered() {
				delivered++
			}
		}
		if delivered != 1 {
			w.badf("I6", r, "succeeded and was executed %d times", delivered)
		}
	}
}

// answerOf finds the execution that the answer names, and checks that the answer is whole.
func (w *scenario) answerOf(r *record, res *mcp.CallToolResult) *exec {
	text := outcome(res, nil)
	word, _, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 || n >= len(w.execs) || w.execs[n].text != text {
		w.badf("I15", r, "got the answer %q, which no server gave", text)
		return nil
	}
	e := w.execs[n]
	m, _ := res.StructuredContent.(map[string]any)
	list, _ := m["list"].([]any)
	if m["text"] != text || len(list) != 1 || list[0] != text || res.IsError != (e.fault == isError) {
		w.badf("I15", r, "got an answer that is not as the server gave it: %v", res.StructuredContent)
	}
	return e
}

// checkShared: I3, I6 and what must never be shared.
func (w *scenario) checkShared(r *record, res *mcp.CallToolResult, e *exec) {
	remembered := w.settings.remembered && r.law == repeats
	fromMemory := e.end.Before(r.begun)
	c := e.call
	switch {
	case r.law != reads && !remembered:
		w.badf("I6", r, "got the answer to %v", c)
	case e.scope != r.scope || e.server != r.server || c.tool != r.tool || e.digest != r.digest || e.meaning != r.meaning:
		w.badf("I3", r, "got the answer to another question, %v of revision %d, %q", c, c.revision, c.text)
	case fromMemory && r.begun.Sub(e.end) >= ttl:
		w.badf("I3", r, "got an answer %v old", r.begun.Sub(e.end))
	case fromMemory && e.fault == isError:
		w.badf("I3", r, "got the cached error of execution %d", e.n)
	case res.RequestState != "":
		w.badf("I3", r, "got the question that execution %d asks another caller", e.n)
	case fromMemory && r.touched && !remembered:
		w.badf("I4", r, "was answered from the cache while a write was in flight")
	}
}

// checkRest: after all has come to rest, a call is made as if it were the first.
func (w *scenario) checkRest(r *record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.begun.IsZero() {
		return // dropped by its server
	}
	before := w.order[r.n-1]
	again := before.text == r.text && before.tool == r.tool && before.server == r.server
	if again && r.law == asks && w.hinted(r.server, r.tool.name) {
		return // its tool's own limit may outlast the approval
	}
	want := 1
	if again && (r.law == reads || r.law == repeats && w.settings.remembered) {
		want = 0
	}
	if len(r.execs) != want {
		w.badf("I19", r, "was executed %d times after all had come to rest, want %d", len(r.execs), want)
	}
}

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
	e.text = strings.ReplaceAll(fmt.Sprintf("%d: %v %s", e.n, r, sent), stranger, "…") // no result has it
	if w.settings.shown && e.n%3 == 0 {
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
		if o == r || !o.asksTheSame(r) || o.begun.IsZero() || !o.begun.Before(r.entered) || o.turn != nil && o.passes == 0 {
			continue // the last one waits for its place in its turn
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

var long = strings.Repeat(" and so on", 150)

// An edge is what the chain returned, before package output.
type edge struct {
	res *mcp.CallToolResult
	err error
}

// atEdge is the middleware right inside of package output.
func (w *scenario) atEdge(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
	r := w.find(call.ID)
	res, err := next.CallTool(ctx, call)
	w.mu.Lock()
	r.edge = &edge{res, err}
	w.mu.Unlock()
	return res, err
}

// checkShown checks I23: a caller gets no error while there is time, and no more than fits. It returns the
// result from before package output, for the other invariants.
func (w *scenario) checkShown(ctx context.Context, r *record, res *mcp.CallToolResult, err error) (*mcp.CallToolResult, error) {
	came := r.edge
	switch {
	case came == nil:
		w.badf("I23", r, "was answered without being made: %v", err)
		return nil, nil
	case err != nil && ctx.Err() == nil:
		w.badf("I23", r, "came back as an error, and its time was not over: %v", err)
	case err != nil:
	case came.err != nil:
		if !res.IsError {
			w.badf("I23", r, "failed and came back as if it had not: %v", came.err)
		}
		if middleware.ForModel(came.err) == "" && strings.Contains(outcome(res, nil), came.err.Error()) {
			w.badf("I23", r, "shows text that is for the log: %v", came.err)
		}
	default:
		shown, whole := outcome(res, nil), outcome(came.res, nil)
		if len(shown) > shownLimit {
			w.badf("I23", r, "shows %d characters", len(shown))
		}
		if len(whole) < shownLimit/2 && (shown != whole || res.IsError != came.res.IsError) {
			w.badf("I23", r, "shows %q for %q", shown, whole)
		}
	}
	return came.res, came.err
}

// Write is the trail's sink, which fails now and then, and panics.
func (w *scenario) Write(_ context.Context, record audit.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.calls[record.Call]
	dice := w.dice(forSink, uint64(r.n), uint64(r.records))
	r.records++
	fails := !w.epilogue && dice.IntN(8) == 0
	switch record.Kind {
	case audit.Intent:
		if r.ends > 0 {
			w.badf("I16", r, "is intended after its end")
		}
		r.intents++
		r.intended = r.intended || !fails
	case audit.End:
		r.ends++
		r.outcome = record.Outcome
	}
	w.say(r.id, "recorded", string(record.Kind)+" "+string(record.Outcome))
	switch {
	case fails && dice.IntN(3) == 0:
		panic("the disk burns")
	case fails:
		return errDisk
	}
	return nil
}

var (
	errDisk = errors.New("the disk is full")
	errGone = errors.New("its goroutine ended")
)

// checkRecorded: I16. A call that has come back has one record of its end, and it is true.
func (w *scenario) checkRecorded(r *record, res *mcp.CallToolResult, err error) {
	if !w.settings.audited {
		return
	}
	if r.ends != 1 {
		w.badf("I16", r, "has %d records of its end", r.ends)
	}
	answered := r.outcome == audit.OK || r.outcome == audit.ToolError || r.outcome == audit.InputRequired
	if answered != (err == nil) || err == nil && res.IsError != (r.outcome == audit.ToolError) {
		w.badf("I16", r, "is recorded as %q and ended with %v", r.outcome, err)
	}
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown != (r.outcome == audit.Unknown) && err != errGone {
		w.badf("I16", r, "is recorded as %q and ended with %v", r.outcome, err)
	}
}

// checkIntended: I13 and I16. Nothing is done without a record before it, or at least an attempt.
func (w *scenario) checkIntended(r *record, e *exec) {
	required := w.settings.required && e.server == replica && r.tool.name == "create_note"
	switch {
	case required && !r.intended:
		w.badf("I13", r, "was executed and had to be recorded before, and was not")
	case !w.settings.audited:
	case r.rogue == kinder: // audit sees another class; the guard still requires the record
	case e.law == asks && !r.intended:
		w.badf("I13", r, "was executed and could not be recorded before")
	case e.law != reads && r.law != reads && r.intents == 0:
		w.badf("I16", r, "was executed without an attempt to record it before")
	}
}

// checkPinned checks I7: a definition that must be reviewed is not executed before that.
func (w *scenario) checkPinned(r *record, e *exec) {
	at := place{e.server, r.tool.name}
	if pinned, ok := w.pinned[at]; ok {
		if now := w.listed[at]; now != pinned.revision || e.revision != now {
			w.badf("I7", r, "was executed under revision %d, and %d was accepted", now, pinned.revision)
		}
		if static := w.policy.law(e.server, r.tool, e.revision); milder(static, pinned.law) {
			w.badf("I7", r, "was executed as %v, and was accepted as %v", static, pinned.law)
		}
	}
}

// checkPlace checks I22 and I24: a call is sent only to visible tools and permitted replicas.
func (w *scenario) checkPlace(r *record, e *exec) {
	static := w.policy.law(e.server, r.tool, e.revision)
	if !r.sees(e.server, max(static, e.law)) {
		w.badf("I22", r, "was executed, and its caller may not see it")
	}
	if e.replica == "" {
		if e.server == trusty && w.settings.pooled {
			w.badf("I24", r, "was executed at none of the replicas")
		}
		return
	}
	if now := w.listed[place{e.server + e.replica, r.tool.name}]; now != e.revision {
		w.badf("I24", r, "was executed at %s, with a definition of revision %d and not %d", e.replica, now, e.revision)
	}
	if e.law == asks && weights[e.replica] < 50 && r.rogue != freshens && r.rogue != kinder { // route sees another class from these
		w.badf("I24", r, "was executed at %s, which is not a primary", e.replica)
	}
}

// checkSeen checks I22: a caller gets no result of a hidden tool.
func (w *scenario) checkSeen(r *record, e *exec) {
	now := max(w.policy.law(r.server, r.tool, r.revision), w.lawOf(r, r.server, r.revision, r.text))
	if !r.sees(r.server, max(r.static, r.law)) && !r.sees(r.server, now) {
		w.badf("I22", r, "got execution %d, and may not see it", e.n)
	}
}

// checkBudget: I25. A session makes no more calls than it may, and as many.
func (w *scenario) checkBudget(r *record, err error) {
	limit := w.settings.limit
	if limit == 0 || w.epilogue {
		return
	}
	r.counts = err == nil || !middleware.NotSent(err) && !middleware.Refused(err)
	now, answered, most := time.Now(), 0, 0
	for _, o := range w.order {
		if o.scope != r.scope || o.begun.IsZero() {
			continue
		}
		if o.counts {
			answered++
		}
		if o != r && (o.counts || o.ended.IsZero() || o.ended.Equal(now)) {
			most++
		}
	}
	stopped, ok := errors.AsType[*budget.StoppedError](err)
	switch {
	case answered > limit:
		w.badf("I25", r, "is call %d of its session, which may make %d", answered, limit)
	case ok && stopped.Reason == budget.Calls && most < limit:
		w.badf("I25", r, "was stopped, and its session has made no more than %d of %d calls", most, limit)
	}
}

// An effect is the same for a call and its repetition.
type effect struct{ scope, server, tool, text string }

func (w *scenario) effectOf(r *record, text string) effect {
	if meaning := w.meaningOf(r, text); meaning >= 0 && meaning < len(arguments) {
		text = arguments[meaning][0]
	}
	return effect{r.scope, r.server, r.tool.name, text}
}

// A lost is a call with an unknown outcome.
type lost struct {
	at   time.Time
	held time.Time // when a call that repeats it was held, zero for never
}

// loses records that the outcome of a call is unknown.
func (w *scenario) loses(r *record) {
	if !w.settings.doubted || r.law < writes || len(r.execs) == 0 && r.rogue == honest {
		return
	}
	w.lost[w.effectOf(r, r.text)] = &lost{at: time.Now()}
	if r.yes != nil {
		w.lost[w.effectOf(r, r.yes.bytes)] = &lost{at: time.Now()}
	}
}

// checkRepeated checks I29: a call that may have happened is not repeated unless a person was told.
func (w *scenario) checkRepeated(r *record, e *exec, sent string) {
	before := w.lost[w.effectOf(r, sent)]
	if before == nil || r.rogue != honest || e.law < writes || r.law < writes || !before.at.Before(r.begun) || r.yes != nil && r.yes.bytes != r.text {
		return
	}
	if !r.told {
		w.badf("I29", r, "is executed, and no person was told that the same call may have happened")
	}
}

// checkHeld: I30. A call is held if the same one may have happened, once.
func (w *scenario) checkHeld(r *record, res *mcp.CallToolResult, err error) {
	if !w.settings.doubted {
		return
	}
	at := w.effectOf(r, r.text)
	before := w.lost[at]
	_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
	switch {
	case unknown:
		w.loses(r)
	case errors.Is(err, doubt.ErrHeld) && r.rogue == honest:
		switch {
		case len(r.execs) > 0 || !middleware.NotSent(err):
			w.badf("I30", r, "was executed and reports that it was held: %v", err)
		case before == nil:
			w.badf("I30", r, "is held, and no call like it is in doubt")
		case !before.held.IsZero() && before.held.Before(r.begun):
			w.badf("I30", r, "is held for the second time")
		default:
			before.held = time.Now()
		}
	case err == nil && r.told && !res.NeedsInput() && before != nil && before.at.Before(r.begun):
		delete(w.lost, at)
	}
}
