package audit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A passage is one call between the two middlewares: [Trail.Record] begins it, outermost, [Trail.Intent] finds it in
// the context, right before the call is made, and Record ends it. What is recorded depends on both: the level of a
// call may rise on the way in, when the call is classified or a person is asked, and what the intent has, the end
// does not repeat. A call may pass Intent more than once, and its end may come while an intent of it, made on
// another goroutine, is not written yet: the mutex and over decide. It is the context that carries itself,
// so that both cost one allocation.
type passage struct {
	callstate.Point

	trail   *Trail
	outside callstate.Passage
	n       int64
	began   time.Time
	kept    uncancelled // part of it, to save an allocation

	mu     sync.Mutex
	level  level
	intent bool // one is written
	shown  bool // the arguments are in a record
	named  bool // the client's identifiers are
	over   bool
	last   *writing // the intent, if one was begun
	first  writing  // parts of it, to save allocations
	final  writing
	redact redact.Redactor
}

// uncancelled is a context that outlives its call, for its last record.
type uncancelled struct{ context.Context }

func (*uncancelled) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*uncancelled) Done() <-chan struct{}       { return nil }
func (*uncancelled) Err() error                  { return nil }

func (t *Trail) begin(ctx context.Context) *passage {
	p := &passage{trail: t, outside: callstate.PassageOf(ctx), n: t.calls.Add(1), began: time.Now()}
	p.Pass(ctx, p)
	p.kept.Context = ctx //nolint:fatcontext // the one that it was begun in
	return p
}

func (t *Trail) passageOf(ctx context.Context) *passage {
	for outer := callstate.PassageOf(ctx); outer != nil; outer = outer.Outside() {
		if p, ok := outer.(*passage); ok && p.trail == t {
			return p
		}
	}
	return nil
}

// Outside returns the passage outside of this one.
func (p *passage) Outside() callstate.Passage { return p.outside }

func (p *passage) record(kind Kind, call *middleware.Call, tool *middleware.Tool) Record {
	r := Record{
		Time: time.Now(), Kind: kind, Run: p.trail.run, N: p.n, Call: short(call.ID), Scope: short(call.Scope),
		Tool: short(tool.Name()), Class: tool.Safety().String(),
	}
	if tool != nil {
		r.Server = short(tool.Server)
	}
	return r
}

// A recorder is [Trail.Record] in a chain.
type recorder struct {
	next  middleware.ToolCaller
	trail *Trail
}

func (r *recorder) Describe() middleware.Description {
	return middleware.Description{Kind: "record", Next: r.next}
}

// CountsRefused reports that calls which cannot be made are recorded as well, see package chain.
func (*recorder) CountsRefused() bool { return true }

func (r *recorder) CallTool(ctx context.Context, call middleware.Call) (res *mcp.CallToolResult, err error) {
	p := r.trail.begin(ctx)
	returned := false
	defer func() { //nolint:contextcheck // the last record outlives the call
		if !returned { // a panic on its way out, or the end of the goroutine
			res, err = nil, middleware.OutcomeUnknown(call, errPanicked)
		}
		p.end(&call, res, err)
	}()
	res, err = r.next.CallTool(p, call) //nolint:contextcheck // p is ctx, and more
	returned = true
	return res, err
}

// end records the outcome. It comes after every intent of the call, and none follows it.
func (p *passage) end(call *middleware.Call, res *mcp.CallToolResult, err error) {
	if err == nil && res != nil {
		callstate.ReadEarly(p, res)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	said := p.Record()
	tool := call.Tool
	if said.Tool != nil {
		tool = said.Tool
	}
	outcome := outcomeOf(p, res, err, &said)
	if err != nil && fault.IsUnread(err) { // the record shows that the answer was not understood
		p.level = full
	}
	p.trail.count(tool.Safety(), outcome)
	if p.level = max(p.level, asked(call.Tool), levelOf(tool), decided(&said)); p.level == counted {
		return
	}
	r := p.record(End, call, tool)
	r.Outcome, r.Took, r.Waited = outcome, r.Time.Sub(p.began), said.Waited
	r.Approval, r.Attempts, r.From = said.Approval.ID, said.Attempts, source(outcome, said.Decisions)
	r.By, r.Via, r.Sources = short(said.By), said.Via, references(said.Sources)
	r.Durable = p.intent && durable(p.level, tool)
	if !p.intent && durable(p.level, tool) {
		reasons(&r, tool) // which an intent has already
	}
	p.values(&r, call, tool, &said)
	p.undo(&r, call, tool, &said)
	p.identify(&r, call)
	p.decide(&r, &said)
	if p.level == full {
		p.ending(&r, tool, res, err)
	} else if outcome == Refused {
		r.Decisions = append(r.Decisions, Decision{Stage: refusedBy(err), What: "refused"})
	}
	p.final.trail, p.final.record, p.final.before = p.trail, r, p.last
	p.final.ctx = &p.kept              //nolint:fatcontext // it is part of the call's
	_ = p.final.write(p.trail.brief()) // the trail has logged and counted it
}

// An intender is [Trail.Intent] in a chain.
type intender struct {
	next  middleware.ToolCaller
	trail *Trail
}

func (i *intender) Describe() middleware.Description {
	return middleware.Description{Kind: "intent", Next: i.next}
}

func (i *intender) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	p := i.trail.passageOf(ctx)
	level, err := p.intend(ctx, &call)
	switch {
	case err != nil && durable(level, call.Tool):
		return nil, &RefusedError{Tool: call.Tool, Err: err}
	case level == full:
		ctx = callstate.WithMark(ctx, &call)
	}
	return i.next.CallTool(ctx, call)
}

var (
	errNoRecord = errors.New("it would have no end: the same trail's Record is not outside Intent")
	errOver     = errors.New("the call has ended already")
)

// intend records the intent if the level of the call requires one. It returns the level, and why the intent could
// not be written.
func (p *passage) intend(ctx context.Context, call *middleware.Call) (level, error) {
	level := levelOf(call.Tool)
	if p == nil {
		return level, errNoRecord
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return level, errOver
	}
	said := p.Record()
	p.level = max(p.level, level, decided(&said))
	if !intended(p.level, call.Tool) {
		return p.level, nil
	}
	r := p.record(Intent, call, call.Tool)
	r.Approval, r.By, r.Via, r.Durable = said.Approval.ID, short(said.By), said.Via, durable(p.level, call.Tool)
	if r.Durable {
		reasons(&r, call.Tool)
	}
	p.values(&r, call, call.Tool, &said)
	p.identify(&r, call)
	if p.level == full {
		p.decide(&r, &said)
	}
	wait := p.trail.brief()
	if r.Durable {
		wait = p.trail.o.Timeout
	}
	w := &p.first
	if p.last != nil {
		w = new(writing)
	}
	w.ctx, w.trail, w.record, w.before = ctx, p.trail, r, p.last
	p.last = w
	err := w.write(wait)
	if err == nil {
		p.intent = true
	} else {
		p.shown, p.named = false, false
	}
	return p.level, err
}
