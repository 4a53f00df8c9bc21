package middlewaretest

// A probe makes calls through one middleware in a bubble of testing/synctest, whose time passes when all its
// goroutines wait. That shows what returns too late, but a goroutine that waits for a lock stops the bubble for good.
// So stuck looks at the stacks of the bubble's goroutines in real time, and breaks off a check whose goroutines wait
// for what the bubble cannot see.

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long a check waits, in the time of the bubble.
const (
	soon     = time.Second      // for a call whose context is done
	patience = 10 * time.Minute // for any other call: a person may be asked
)

// A probe checks one sentence of the contract with one tool.
type probe struct {
	m       middleware.Middleware
	tool    *middleware.Tool
	t       *testing.T
	mine    []goroutine // which are in the bubble from the beginning
	quit    chan struct{}
	look    <-chan time.Time // ticks outside of the bubble
	faults  []string
	isStuck bool // a goroutine waits for something that the bubble cannot see

	abandoned chan struct{} // closed where the bubble cannot end
}

// end lets every waiting next return, so that the bubble can end, and recovers from a check that was broken off.
func (p *probe) end() {
	close(p.quit)
	if v := recover(); v != nil && v != any(errBrokenOff) {
		panic(v)
	}
}

var errBrokenOff = errors.New("middlewaretest: nothing more to learn")

func (p *probe) faultf(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// breakOff reports a fault after which the check cannot go on.
func (p *probe) breakOff(format string, args ...any) {
	p.faultf(format, args...)
	panic(errBrokenOff)
}

// apply hangs the middleware before a next that answers so.
func (p *probe) apply(answer answer) (*next, middleware.ToolCaller) {
	n := &next{answer: answer, entered: make(chan struct{}, 1)}
	caller := p.m(n)
	if caller == nil {
		p.breakOff("the middleware returned a nil ToolCaller")
	}
	return n, caller
}

type valueKey struct{}

func (p *probe) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(p.t.Context(), valueKey{}, true), patience)
}

// A flight is one call, on a goroutine of its own.
type flight struct {
	call     middleware.Call
	done     chan struct{}
	res      *mcp.CallToolResult
	err      error
	panicked any
}

func (p *probe) start(ctx context.Context, caller middleware.ToolCaller, call middleware.Call) *flight {
	f := &flight{call: call, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer func() { f.panicked = recover() }()
		f.res, f.err = caller.CallTool(ctx, call)
	}()
	return f
}

// returned reports whether the call returns within a time of the bubble.
func (f *flight) returned(within time.Duration) bool {
	select {
	case <-f.done:
	case <-time.After(within):
	}
	synctest.Wait()
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// land waits for the flight and breaks the check off where it does not come back or panics.
func (p *probe) land(f *flight) {
	if !f.returned(patience + soon) {
		p.breakOff("the call had not returned %v after its deadline", soon)
	}
	if f.panicked != nil {
		p.breakOff("CallTool panicked: %v", f.panicked)
	}
}

// try makes one call and waits for it.
func (p *probe) try(caller middleware.ToolCaller, call middleware.Call) *flight {
	return p.together(caller, call)[0]
}

// together makes calls at once and waits for all.
func (p *probe) together(caller middleware.ToolCaller, calls ...middleware.Call) []*flight {
	ctx, cancel := p.context()
	defer cancel()
	flights := make([]*flight, len(calls))
	for i, call := range calls {
		flights[i] = p.start(ctx, caller, call)
	}
	for _, f := range flights {
		p.land(f)
	}
	return flights
}

// hold starts a call that waits in next, and returns once it waits there or elsewhere, or has ended.
func (p *probe) hold(ctx context.Context) (*next, *flight) {
	n, caller := p.apply(p.held(nil))
	f := p.start(ctx, caller, p.call("a", 1))
	select {
	case <-n.entered:
	case <-f.done:
	case <-time.After(patience):
	}
	return n, f
}

// says reports whether the flight ended as one whose context is done, perhaps by a result with IsError.
func (f *flight) says(ctx context.Context) bool {
	if f.err == nil {
		return f.res != nil && f.res.IsError
	}
	return errors.Is(f.err, ctx.Err()) || errors.Is(f.err, context.Cause(ctx))
}

// rest lets an hour pass, for what a middleware may do later.
func (p *probe) rest() {
	time.Sleep(time.Hour)
	synctest.Wait()
}

// leftovers returns the stacks of goroutines that the middleware has left.
func (p *probe) leftovers() string {
	synctest.Wait()
	var found []string
	for _, g := range goroutines() {
		if !slices.ContainsFunc(p.mine, func(mine goroutine) bool { return mine.id == g.id }) {
			found = append(found, g.stack)
		}
	}
	return strings.Join(found, "\n")
}

// How often goroutines are looked at, and how often in a row one must be blocked to count.
const (
	lookEvery = 10 * time.Millisecond
	looks     = 60
)

// stuck lets the other goroutines go on until all wait, and returns how one waits for what the bubble cannot see.
func (p *probe) stuck() string {
	for look := 0; look < looks; {
		runtime.Gosched()
		how, running := others()
		switch {
		case running:
			look = 0
		case how == "":
			return ""
		default:
			look++
			<-p.look
		}
		if look == looks {
			p.isStuck = true
			return how
		}
	}
	return ""
}

// others returns how another goroutine of this bubble waits, if the bubble cannot see it, and whether one runs.
func others() (how string, running bool) {
	for _, g := range goroutines() {
		switch {
		case strings.HasSuffix(g.state, "(durable)"):
		case strings.HasPrefix(g.state, "sync."), strings.HasPrefix(g.state, "chan "), strings.HasPrefix(g.state, "select"):
			how = g.state
		default:
			running = true
		}
	}
	return how, running
}

type goroutine struct{ id, state, stack string }

// head is how a goroutine's stack begins: "goroutine 7 [sync.Mutex.Lock, synctest bubble 3]:".
var head = regexp.MustCompile(`^goroutine (\d+) .*?\[([^],]*).*, synctest bubble (\d+)`)

// goroutines returns the other goroutines of this bubble.
func goroutines() []goroutine {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for ; n == len(buf); n = runtime.Stack(buf, true) {
		buf = make([]byte, 2*len(buf))
	}
	var found []goroutine
	bubble := ""
	for stack := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		switch of := head.FindStringSubmatch(stack); {
		case of == nil:
		case bubble == "": // the first is the one that looks
			bubble = of[3]
		case of[3] == bubble:
			found = append(found, goroutine{of[1], of[2], stack})
		}
	}
	return found
}
