package sim

// The checks of what single slots of the chain promise: output, audit, pins, routes, budgets and locks.

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	fails := !w.epilogue && w.alike == nil && dice.IntN(8) == 0
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
	harmless := r.law < writes && !r.told // but a repetition of a call in doubt is itself one
	if !w.settings.doubted || harmless || len(r.execs) == 0 && r.rogue == honest {
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
