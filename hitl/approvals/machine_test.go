package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// A world is a real confirmation with a real store on a disk in memory, a person
// who answers when told to, and a model of what each call has come to.
type world struct {
	tool   *middleware.Tool
	disk   *disk
	store  *approvals.File
	caller middleware.ToolCaller
	closed bool
	calls  []*asked
}

// An asked is one call: what the model says of it and the handles to move it.
type asked struct {
	id        string
	scope     *world // the process that it was made in, nil after a crash
	want      approvals.State
	question  string // its id in the store
	stubborn  bool   // its person does not notice that the question is over
	yesUntil  time.Time
	cancel    context.CancelFunc
	answer    chan hitl.Decision
	gate      chan struct{} // before the guard
	back      chan struct{} // in the executor
	runs      atomic.Int64
	mustRun   int64
	err       error
	finished  atomic.Bool
	answering bool // the person has not answered yet
}

func (w *world) start(t *rapid.T) {
	var err error
	if w.store, err = approvals.Open(t, []byte(w.disk.text()), w.disk); err != nil {
		t.Fatal(err)
	}
	w.closed = false
	guarded := guard.New(middleware.ToolCallerFunc(w.execute), func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
		return call.Tool, nil
	})
	w.caller = hitl.New(hitl.ConfirmerFunc(w.confirm), hitl.Options{Store: w.store, MaxPending: 1 << 20})(middleware.ToolCallerFunc(
		func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			select {
			case <-w.of(call.ID).gate:
				return guarded.CallTool(ctx, call)
			case <-ctx.Done():
				return nil, fault.GivenUp(ctx)
			}
		}))
}

func (w *world) of(id string) *asked {
	for _, c := range w.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (w *world) confirm(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
	c := w.of(r.CallID)
	c.question = r.ID
	if c.stubborn {
		return <-c.answer, nil
	}
	select {
	case d := <-c.answer:
		return d, nil
	case <-ctx.Done():
		return hitl.Decision{}, context.Cause(ctx)
	}
}

func (w *world) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	c := w.of(call.ID)
	c.runs.Add(1)
	select {
	case <-c.back:
		return &mcp.CallToolResult{}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pick returns a call in one of the states, and skips the action if there is none.
func (w *world) pick(t *rapid.T, fits func(*asked) bool) *asked {
	var found []*asked
	for _, c := range w.calls {
		if fits(c) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		t.Skip("none")
	}
	return rapid.SampledFrom(found).Draw(t, "call")
}

func is(states ...approvals.State) func(*asked) bool {
	return func(c *asked) bool {
		for _, s := range states {
			if c.want == s && c.scope != nil {
				return true
			}
		}
		return false
	}
}

func (w *world) request(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &asked{
		id: fmt.Sprintf("call-%d", len(w.calls)), scope: w, want: approvals.Pending, cancel: cancel, stubborn: rapid.Bool().Draw(t, "stubborn"),
		answer: make(chan hitl.Decision), gate: make(chan struct{}), back: make(chan struct{}), answering: !w.closed,
	}
	w.calls = append(w.calls, c)
	if w.closed {
		c.want = "" // it cannot be written down, and is denied
	}
	call := middleware.Call{ID: c.id, Tool: w.tool, Arguments: fmt.Appendf(nil, `{"n":%d}`, len(w.calls))}
	caller := w.caller
	go func() {
		_, c.err = caller.CallTool(ctx, call)
		c.finished.Store(true)
	}()
}

// decide answers an open question. What cannot be written down is a no.
func (w *world) decide(t *rapid.T) {
	c := w.pick(t, is(approvals.Pending))
	d := hitl.Decision{By: "ann"}
	c.want = approvals.Denied
	if rapid.Bool().Draw(t, "yes") {
		d.Verdict = hitl.Approved
		c.want, c.yesUntil = approvals.Approved, time.Now().Add(5*time.Minute)
	}
	if w.closed {
		c.want = "" // whatever it was, it is over
	}
	c.answering = false
	c.answer <- d
}

// late answers a question that is over, by the person or by the store.
func (w *world) late(t *rapid.T) {
	c := w.pick(t, func(c *asked) bool { return c.finished.Load() && (c.answering && c.stubborn || c.question != "") })
	if c.answering && c.stubborn {
		c.answering = false
		c.answer <- hitl.Decision{Verdict: hitl.Approved, By: "late"}
		return
	}
	state := rapid.SampledFrom([]approvals.State{approvals.Approved, approvals.Spent, approvals.Done, approvals.Denied, approvals.Void, approvals.Pending}).Draw(t, "state")
	change := approvals.Change{To: state, By: "late", Until: time.Now().Add(time.Hour)}
	if err := w.store.Advance(context.Background(), c.question, change); err == nil || !w.closed && !errors.Is(err, approvals.ErrNoEffect) {
		t.Fatalf("%s, which is %s, took %s: %v", c.id, c.want, state, err)
	}
}

func (w *world) foreign(t *rapid.T) {
	if err := w.store.Advance(context.Background(), "foreign", approvals.Change{To: approvals.Approved, Until: time.Now().Add(time.Hour)}); err == nil {
		t.Fatal("an approval that nobody knows was approved")
	}
}

func (w *world) cancelled(t *rapid.T) {
	c := w.pick(t, is(approvals.Pending, approvals.Approved, approvals.Spent))
	c.cancel()
	c.want = map[bool]approvals.State{true: approvals.Done, false: approvals.Void}[c.want == approvals.Spent]
	if w.closed {
		c.want = ""
	}
}

func (w *world) expire(t *rapid.T) {
	time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, 31 * time.Second, 6 * time.Minute}).Draw(t, "wait"))
	for _, c := range w.calls {
		if c.want == approvals.Pending && c.scope != nil && c.finished.Load() {
			c.want = approvals.Void
			if w.closed {
				c.want = ""
			}
			if !errors.Is(c.err, hitl.ErrDenied) {
				t.Fatalf("%s: silence ended in %v", c.id, c.err)
			}
		}
	}
}

func (w *world) handOver(t *rapid.T) {
	c := w.pick(t, is(approvals.Approved))
	switch {
	case w.closed:
		c.want = ""
	case time.Now().Before(c.yesUntil):
		c.want, c.mustRun = approvals.Spent, 1
	default:
		c.want = approvals.Void
	}
	close(c.gate)
}

func (w *world) comesBack(t *rapid.T) {
	c := w.pick(t, is(approvals.Spent))
	c.want = approvals.Done
	if w.closed {
		c.want = ""
	}
	close(c.back)
}

func (w *world) close(t *rapid.T) {
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.closed = true
}

// crash ends the process as it stands: what the disk has is what is left.
func (w *world) crash(t *rapid.T) {
	dead := w.disk
	w.disk = newDisk()
	w.disk.data.WriteString(dead.kept())
	w.disk.synced = w.disk.data.Len()
	for _, c := range w.calls {
		if c.want.Open() || c.want == "" && c.scope != nil {
			c.want = approvals.Void // or what it was when the file was closed
		}
		if c.scope != nil {
			c.cancel()
		}
		c.scope = nil
	}
	w.start(t)
}

// states are those of the calls as the disk has them.
func (w *world) states(t *rapid.T) map[string]approvals.State {
	callOf, state := make(map[string]string), make(map[string]approvals.State)
	for text := range strings.Lines(w.disk.text()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		switch l.Op {
		case "asked":
			callOf[l.Approval.ID] = l.Approval.CallID
			state[l.Approval.CallID] = l.Approval.State
		case "advanced":
			was := state[callOf[l.ID]]
			if !was.CanBecome(l.Change.To) {
				t.Fatalf("the file takes a step from %s to %s", was, l.Change.To)
			}
			state[callOf[l.ID]] = l.Change.To
		}
	}
	return state
}

// check compares the model with the calls and with the disk.
func (w *world) check(t *rapid.T) {
	synctest.Wait()
	state := w.states(t)
	for _, c := range w.calls {
		if c.runs.Load() != c.mustRun {
			t.Fatalf("%s ran %d times, want %d", c.id, c.runs.Load(), c.mustRun)
		}
		got := state[c.id]
		switch {
		case c.scope == nil: // of a process that has ended
			if got.Open() || !c.finished.Load() {
				t.Fatalf("%s is %s after a crash", c.id, got)
			}
		case c.want != "" && got != c.want:
			t.Fatalf("%s is %s on the disk, want %s", c.id, got, c.want)
		case c.want == "" && !c.finished.Load(), c.want != "" && c.finished.Load() == c.want.Open():
			t.Fatalf("%s is %q and finished: %t (%v)", c.id, c.want, c.finished.Load(), c.err)
		}
	}
}

// end lets everybody go, so that nothing stays behind in the bubble.
func (w *world) end() {
	for _, c := range w.calls {
		c.cancel()
		if c.answering && c.stubborn {
			c.answering = false
			c.answer <- hitl.Decision{}
		}
	}
	synctest.Wait()
}

// A tb has no deadline, which a bubble does not know.
type tb struct{ testing.TB }

// The approvals of a real confirmation move as the table says, whatever happens in
// whatever order: requests, answers in time, late, twice and to nothing, callers
// that go, time that passes, a store that is closed, and crashes.
func TestApprovalsMoveAsTheTableSays(t *testing.T) {
	tool, err := middleware.NewTool("files", &mcp.Tool{Name: "delete"}, annotation.Destructive())
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	machine := func(t *rapid.T) {
		w := &world{tool: tool, disk: newDisk()}
		w.start(t)
		defer w.end()
		count := func(action func(*rapid.T)) func(*rapid.T) {
			return func(t *rapid.T) { action(t); steps++ }
		}
		t.Repeat(map[string]func(*rapid.T){
			"request": count(w.request), "decide": count(w.decide), "late": count(w.late), "foreign": count(w.foreign),
			"cancel": count(w.cancelled), "expire": count(w.expire), "hand over": count(w.handOver), "come back": count(w.comesBack),
			"close": count(w.close), "crash": count(w.crash), "": w.check,
		})
	}
	for range 25 / longtest.Every(t, 5) { // a day of the bubble's time ends a check, so there are several
		synctest.Test(t, func(t *testing.T) { rapid.Check(tb{t}, machine) })
	}
	t.Logf("%d steps", steps)
}
