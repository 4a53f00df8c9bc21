package sim

// The checks of a call, as its caller sees it: when it begins, when its answer is there, and at the end of the scenario.
// Those of what a server gets are in check_exec.go, and those of single slots in check_slots.go. Each check names the
// invariant that it is for (badf), and computes what must hold from the journal alone.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	r.judged = w.judgedLaw(r, r.server, r.revision, r.text)
	w.source(r)
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
	// A call that joins another one may get the error of an attempt before it, if that one waited to try again and then was
	// told of a pause that is too long.
	if e, ok := errors.AsType[*serverError](err); ok && e.exec.call != r && e.exec.end.Before(r.begun) && !e.exec.call.live(r.begun) {
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
	askedAbout := r.law == asks || r.law != reads && w.settings.slots.careful
	if again && askedAbout && w.hinted(r.server, r.tool.name) {
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
