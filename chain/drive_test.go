package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// doubles are the person in a chain that is driven.
type doubles struct {
	asked func() int     // how many questions there were; nil means that they are not counted
	say   func(yes bool) // what the person answers from now on; nil means that it is always yes
}

// drive returns what [chain.Verify] reads, and what a dozen calls through the chain show.
// It sees what middlewares do that do not describe themselves: call next twice, change what
// was approved, answer from memory what a person must be asked about.
func drive(c interface {
	Then(executor middleware.ToolCaller) middleware.ToolCaller
}, person doubles) []chain.Problem {
	problems := append(chain.Verify(c), driven(c.Then, person, slices.Contains(chain.Kinds(c.Then), "record"))...)
	slices.SortStableFunc(problems, func(a, b chain.Problem) int {
		switch {
		case a.Warning == b.Warning:
			return 0
		case a.Warning:
			return 1
		}
		return -1
	})
	return problems
}

// The deadline of a driver's call: one that is answered, and one that fails and may be repeated.
const (
	patience = 500 * time.Millisecond
	brief    = time.Millisecond
)

// hurried reports an earlier deadline than it keeps, so that no wait is long and no
// question is abandoned, which would be counted as the next call's.
type hurried struct {
	context.Context

	deadline time.Time
}

func (h hurried) Deadline() (time.Time, bool) { return h.deadline, true }

// driven makes calls through the chain and judges what reaches the executor.
func driven(whole middleware.Middleware, person doubles, records bool) []chain.Problem {
	d := &driver{asked: person.asked, say: person.say, end: new(recorder), records: records}
	if d.counts = d.asked != nil; !d.counts {
		d.asked = func() int { return 0 }
	}
	read := annotation.ReadOnly()
	read.Freshness = annotation.Stable
	d.read = d.tool("look", read.Attribute(annotation.Host, ""))
	d.write = d.tool("add", annotation.Write().Attribute(annotation.Host, ""))
	d.danger = d.tool("destroy", annotation.Destructive().Attribute(annotation.Host, ""))
	d.unclassed = d.tool("list_things", annotation.Annotations{})
	audited := read
	audited.AuditRequired = annotation.Yes
	d.audited = d.tool("look_at_secrets", audited.Attribute(annotation.Host, ""))
	d.caller = whole(&arrivals{recorder: d.end, guarded: guard.New(d.end, d.accepted)})
	answerYes := func(yes bool) {
		if d.say != nil {
			d.say(yes)
		}
	}
	answerYes(true)
	for _, try := range []func(){d.consent, d.failures, d.writes, d.reads, d.class, d.record} {
		try()
	}
	answerYes(true)
	return d.problems
}

// A driver makes the calls of one drive.
type driver struct {
	caller                         middleware.ToolCaller
	asked                          func() int
	counts                         bool // whether questions are counted
	say                            func(yes bool)
	end                            *recorder
	records                        bool // a middleware of the chain declares that it does
	read, write, danger, unclassed *middleware.Tool
	audited                        *middleware.Tool
	problems                       []chain.Problem
}

func (*driver) tool(name string, a annotation.Annotations) *middleware.Tool {
	t, err := middleware.NewTool("fairlead.verify", &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, a)
	if err != nil {
		panic("chain: " + err.Error()) // it is ours, and can be written
	}
	return t
}

// accepted is the guard of a catalog that holds these tools.
func (d *driver) accepted(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
	for _, t := range []*middleware.Tool{d.read, d.write, d.danger} {
		if t.Server == call.Tool.Server && t.Name() == call.Tool.Name() {
			return t, nil
		}
	}
	return call.Tool, nil
}

func (d *driver) faultf(format string, args ...any) {
	if p := (chain.Problem{Text: fmt.Sprintf(format, args...)}); !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

// An outcome is what became of one call.
type outcome struct {
	asked, arrived, executed int
	err                      error
}

// silent reports whether the call was answered and never reached the executor.
func (o outcome) silent() bool { return o.err == nil && o.executed == 0 }

// call makes one call. The scope names the try, so that no two tries share a cache or a rate by
// accident.
func (d *driver) call(t *middleware.Tool, scope, arguments string, within time.Duration) (o outcome) {
	ctx := hurried{context.Background(), time.Now().Add(within)}
	asked := d.asked()
	d.end.reset()
	defer func() {
		if v := recover(); v != nil {
			o.err = fmt.Errorf("chain: it panicked: %v", v)
			d.faultf("a call of class %s panicked (%v); put middleware.Recover outermost, or mend what panics", t.Safety(), v)
		}
		o.asked = d.asked() - asked
		o.arrived, o.executed = d.end.counts()
	}()
	res, err := d.caller.CallTool(ctx, middleware.Call{ID: scope, Scope: scope, Tool: t, Arguments: json.RawMessage(arguments)})
	if o.err = err; err == nil && res != nil && res.IsError && !ours(res) {
		o.err = errTold
	}
	return o
}

// consent makes one dangerous call three times: twice after an approval, once after a denial.
func (d *driver) consent() {
	const scope, arguments = "consent", `{"what":"all"}`
	first := d.call(d.danger, scope, arguments, patience)
	if first.asked > 1 {
		d.faultf("a person was asked %d times about one dangerous call; leave one asker, outside whatever repeats", first.asked)
	}
	switch {
	case first.arrived > 1:
		d.faultf("one dangerous call was handed to the executor %d times: something calls next more than once", first.arrived)
	case first.silent():
		d.faultf("a dangerous call was answered without being executed")
	case first.executed > 0 && first.asked == 0 && d.counts:
		d.faultf("a dangerous call was executed, and nobody was asked; put hitl into the chain, and let the guard stand")
	case first.arrived > first.executed && first.asked > 0:
		d.faultf("what a person agreed to is not what reached the executor, which refused it: something inside the confirmation changes the call; put it outside")
	}
	if second := d.call(d.danger, scope, arguments, patience); second.silent() && !first.silent() {
		if second.asked == 0 && first.asked > 0 {
			d.faultf("a dangerous call was answered from memory, and nobody was asked: what remembers it is outside the confirmation, and may hold no call that needs one")
		} else {
			d.faultf("a dangerous call was answered from memory, and did not happen: whatever remembers may hold reads only")
		}
	}
	if d.say == nil {
		return
	}
	d.say(false)
	defer d.say(true)
	denied := d.call(d.danger, scope, arguments, patience)
	switch {
	case denied.executed > 0 && denied.asked > 0:
		d.faultf("a dangerous call was executed after a person had said no")
	case denied.err == nil && !first.silent():
		d.faultf("a dangerous call had a result after a person had said no")
	}
}

func (d *driver) failures() {
	for _, t := range []*middleware.Tool{d.danger, d.write} {
		d.end.answer(errLost, false)
		if lost := d.call(t, "lost", `{}`, brief); lost.arrived > 1 {
			d.faultf("a %s call of which nobody knows whether it happened was made again: something repeats more than it may", t.Safety())
		}
	}
	d.end.answer(errUnsent, false)
	if o := d.call(d.danger, "unsent", `{}`, brief); o.asked > 1 {
		d.faultf("a person was asked again for each attempt at one call; put the confirmation outside whatever repeats")
	}
	d.end.answer(nil, false)
}

func (d *driver) writes() {
	const scope = "writes"
	switch first := d.call(d.write, scope, `{}`, patience); {
	case first.arrived > 1:
		d.faultf("one write was handed to the executor %d times: something calls next more than once", first.arrived)
	case first.silent():
		d.faultf("a write was answered without being executed")
	default:
		if d.call(d.write, scope, `{}`, patience).silent() {
			d.faultf("a write was answered from memory, and did not happen: whatever remembers may hold reads only")
		}
	}
}

// reads makes reads, by two users, round a write and after a failure.
func (d *driver) reads() {
	if d.call(d.read, "reads", `{}`, patience).silent() {
		return // something answers by itself, and has its reasons
	}
	if d.call(d.read, "reads of another", `{}`, patience).silent() {
		d.faultf("a read was answered with what another scope had been told")
	}
	if d.call(d.write, "reads", `{}`, patience).executed > 0 && d.call(d.read, "reads", `{}`, patience).silent() {
		d.faultf("a read was answered with what was there before the caller's own write: the write did not pass what remembers")
	}
	d.end.answer(nil, true)
	failed := d.call(d.read, "failed reads", `{}`, patience)
	d.end.answer(nil, false)
	if failed.executed > 0 && d.call(d.read, "failed reads", `{}`, patience).silent() {
		d.faultf("a failure that the tool reported was answered again from memory")
	}
}

// class makes a call of an unclassified tool with a reading name.
func (d *driver) class() {
	if o := d.call(d.unclassed, "class", `{}`, patience); o.asked > 0 && d.end.classed() {
		d.faultf("a person was asked about a read: the tool's class is worked out inside the confirmation; put infer outside it")
	}
}

// record makes a read that must be recorded, if a middleware declares that it records.
func (d *driver) record() {
	if !d.records || d.call(d.read, "record", `{}`, patience).executed == 0 {
		return
	}
	if o := d.call(d.audited, "record", `{}`, patience); o.executed == 0 {
		d.faultf("a call that must be recorded was not made: nothing wrote it down before it reached the executor, or something further in changed it; " +
			"put both links of one trail into the chain, and let its sink work")
	}
}

// A recorder is an executor that counts, and answers as set.
type recorder struct {
	mu                sync.Mutex
	arrived, executed int
	last              *middleware.Tool
	err               error
	failed            bool
}

// The failures of the executor: after it may have acted, and before it left.
var (
	errLost         = errors.New("chain: lost, as the driver wants it")
	errUnsent error = unsentError{}
)

type unsentError struct{}

func (unsentError) Error() string { return "chain: not sent, as the driver wants it" }
func (unsentError) NotSent() bool { return true }

func (r *recorder) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.executed++
	if r.err != nil {
		return nil, r.err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: recorded}}, IsError: r.failed}, nil
}

// recorded is the text of every answer of a recorder.
const recorded = "chain: done, as the driver wants it"

// errTold replaces an error that the outer edge has made into a result.
var errTold = errors.New("chain: an error, as a model reads it")

// ours reports whether a result is a recorder's, whatever surrounds its text.
func ours(res *mcp.CallToolResult) bool {
	return slices.ContainsFunc(res.Content, func(c mcp.Content) bool {
		text, ok := c.(*mcp.TextContent)
		return ok && strings.Contains(text.Text, recorded)
	})
}

func (r *recorder) answer(err error, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.failed = err, failed
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived, r.executed, r.last = 0, 0, nil
}

func (r *recorder) counts() (arrived, executed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived, r.executed
}

// classed reports whether the last call came with the class of a read.
func (r *recorder) classed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last.Safety() == annotation.Safe
}

// arrivals counts what is handed over, before the guard turns any of it away.
type arrivals struct {
	*recorder

	guarded middleware.ToolCaller
}

// Describe implements [middleware.Describer].
func (*arrivals) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}

func (a *arrivals) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	a.mu.Lock()
	a.arrived++
	a.last = call.Tool
	a.mu.Unlock()
	return a.guarded.CallTool(ctx, call)
}
