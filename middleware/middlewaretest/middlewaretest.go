// Package middlewaretest checks that a middleware keeps the contract of package middleware, sentence by
// sentence, and quotes each sentence that is broken.
//
// Most sentences are in the docs of [middleware.ToolCaller], [middleware.Middleware] and [middleware.Call].
// Five follow from what a chain promises as a whole:
//
//   - No lock is held across next.
//   - The values and the deadline of the context reach next.
//   - What next answered with as an error stays in the tree of the error that is returned.
//   - A call that is not safe to repeat is sent once, unless it certainly did not leave.
//   - A panic further in leaves nothing stuck.
//
// Every check runs in a bubble of testing/synctest. Channels and timers from outside cannot be used inside it, so
// state must belong to what the middleware was applied to. A middleware that uses a network or another process
// needs a double for it. A test that calls Run must not itself run inside a bubble.
//
// The next that the middleware is given keeps the contract too: it returns exactly one of result and error.
package middlewaretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Run checks the middleware, one subtest for each sentence, with a tool of each class and the given ones, for a
// middleware that acts only on those.
//
// A middleware may refuse a call or answer it by itself: sentences about next count only when next is called.
// Run the test with -race as well.
func Run(t *testing.T, m middleware.Middleware, tools ...*middleware.Tool) {
	t.Helper()
	if m == nil {
		t.Fatal("middlewaretest: Run was given a nil middleware")
	}
	tools = append(classes(), tools...)
	for i, c := range checks {
		broken := false // and not what t.Run says, for the race detector may blame this test for another's race
		t.Run(c.sentence, func(t *testing.T) {
			for _, fault := range c.faults(t, m, tools) {
				broken = true
				t.Errorf("the contract says: %q\nbut with %s", c.sentence, fault)
			}
		})
		if broken && i == 0 {
			t.Fatal("the other checks would hang; mend this one first")
		}
	}
}

type check struct {
	sentence string
	run      func(p *probe)
}

// faults runs the check in one bubble for each tool and returns its findings.
func (c check) faults(t *testing.T, m middleware.Middleware, tools []*middleware.Tool) []string {
	t.Helper()
	var faults []string
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for _, tool := range tools {
		p := &probe{m: m, tool: tool, look: ticker.C, abandoned: make(chan struct{})}
		bubble(t, p.abandoned, func(t *testing.T) {
			p.t, p.mine, p.quit = t, goroutines(), make(chan struct{})
			defer p.end()
			c.run(p)
		})
		for _, fault := range slices.Compact(p.faults) {
			faults = append(faults, fmt.Sprintf("the %s tool %s: %s", tool.Safety(), tool.Name(), fault))
		}
		if p.isStuck {
			break // to see it takes real time, and the next tool would show the same
		}
	}
	return faults
}

// bubble runs f in a bubble and returns when it has ended, or when abandoned is closed, since one with a goroutine
// that waits for a lock never ends. The check for goroutines reports better than the panic that it drops.
func bubble(t *testing.T, abandoned <-chan struct{}, f func(t *testing.T)) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if v := recover(); v != nil && fmt.Sprint(v) != deadlock {
				panic(v)
			}
		}()
		synctest.Test(t, f)
	}()
	select {
	case <-ended:
	case <-abandoned:
	}
}

const deadlock = "deadlock: main bubble goroutine has exited but blocked goroutines remain"

// classes returns a tool of each class, and an idempotent write, with names that inference does not know.
func classes() []*middleware.Tool {
	var tools []*middleware.Tool
	for _, of := range []struct {
		name string
		a    annotation.Annotations
	}{
		{"xyzzy_one", annotation.ReadOnly()},
		{"xyzzy_two", annotation.Write()},
		{"xyzzy_three", annotation.Update()},
		{"xyzzy_four", annotation.Destructive()},
		{"xyzzy_five", annotation.Annotations{}},
	} {
		of.a.Tags = append(make([]string, 0, 4), "kit")
		tools = append(tools, testtool.Of("kit", &mcp.Tool{
			Name:        of.name,
			InputSchema: map[string]any{"type": "object"},
			Meta:        mcp.Meta{"kit": map[string]any{"of": "middlewaretest"}},
		}, of.a))
	}
	return tools
}

// checks are the sentences in order. Without the first one, the others would hang.
var checks = []check{
	{"No lock is held across next.", holdsNoLock},
	{"CallTool returns exactly one of result and error.", oneAnswer},
	{"A failure that the tool itself reported is a result with IsError set.", reportedFailure},
	{"The call, its Tool and its Arguments are only read", readsOnly},
	{"a result belongs to the caller once it is returned.", resultIsTheCallers},
	{"CallTool returns soon after ctx is done, with an error that reports that.", honoursContext},
	{"The values and the deadline of the context reach next.", passesContext},
	{"It is safe for concurrent use", concurrent},
	{"leaves no goroutine behind.", leavesNothingRunning},
	{"call next, more than once if that is harmless, but never after it has returned.", neverAfterwards},
	{"A call that is not safe to repeat is sent once, unless it certainly did not leave.", sentOnce},
	{"What next answered with as an error stays in the tree of the error that is returned.", passesErrors},
	{"ID is one per call that the model asked for; all attempts share it.", keepsIdentity},
	{"Nothing is shared across scopes.", separatesScopes},
	{"A panic further in leaves nothing stuck.", survivesPanic},
}

// An ending is a way in which next may end: with the error, or with the answer if that is nil.
type ending struct {
	name   string
	answer answer
	err    error
}

var endings = [...]ending{
	{"a result", result, nil},
	{"a failure that the tool reported", reported, nil},
	{"a lost connection", failing(errLost), errLost},
	{"an unknown outcome", failing(&middleware.OutcomeUnknownError{Check: "look", Err: errLost}), errLost},
	{"a deadline of its own", failing(context.DeadlineExceeded), context.DeadlineExceeded},
	{"a call that was not sent", failing(errNotSent), errNotSent},
	{"a call that was refused", failing(errRefused), errRefused},
}

// each makes a call for each ending, with what next saw of it.
func (p *probe) each(look func(end ending, f *flight, saw []seen)) {
	for _, end := range endings {
		n, caller := p.apply(end.answer)
		f := p.try(caller, p.call("a", 1))
		look(end, f, n.calls())
	}
}

func holdsNoLock(p *probe) {
	letGo := make(chan struct{})
	n, caller := p.apply(p.held(letGo))
	ctx, cancel := p.context()
	defer cancel()
	first := p.start(ctx, caller, p.call("a", 1))
	how := p.stuck()
	if how == "" {
		second := p.start(ctx, caller, p.call("a", 2))
		how = p.stuck()
		defer p.land(second)
	}
	began := len(n.calls())
	close(letGo)
	if how != "" {
		p.faultf("while %d call waited in next, another was blocked [%s]: on a lock, or on a channel made before the middleware was applied", began, how)
	}
	p.land(first)
}

func oneAnswer(p *probe) {
	p.each(func(end ending, f *flight, _ []seen) {
		switch {
		case f.res == nil && f.err == nil:
			p.faultf("next answered with %s, and CallTool returned neither a result nor an error", end.name)
		case f.res != nil && f.err != nil:
			p.faultf("next answered with %s, and CallTool returned both a result and the error %v", end.name, f.err)
		}
	})
}

func reportedFailure(p *probe) {
	n, caller := p.apply(reported)
	f := p.try(caller, p.call("a", 1))
	switch {
	case len(n.calls()) == 0: // it never got as far
	case f.err != nil:
		p.faultf("next answered with an IsError result, and CallTool returned the error %v", f.err)
	case f.res != nil && !f.res.IsError:
		p.faultf("next answered with an IsError result, and CallTool returned one without IsError")
	}
}

func readsOnly(p *probe) {
	for _, end := range endings {
		var within string
		var once sync.Once
		call := p.call("a", 1)
		before := snapshot(call)
		_, caller := p.apply(func(ctx context.Context, got middleware.Call) (*mcp.CallToolResult, error) {
			once.Do(func() { within = snapshot(call) })
			return end.answer(ctx, got)
		})
		p.try(caller, call)
		after := snapshot(call)
		p.rest()
		for _, now := range []struct{ when, text string }{
			{"when next was called", within}, {"when CallTool returned", after}, {"later", snapshot(call)},
		} {
			if now.text != "" && now.text != before {
				p.breakOff("%s, what the call holds had been written to:\n was %s\n is  %s", now.when, before, now.text)
			}
		}
	}
}

func resultIsTheCallers(p *probe) {
	call := p.call("a", 1)
	_, caller := p.apply(waiting(time.Millisecond))
	first := p.try(caller, call)
	kept := text(first.res)
	second := p.try(caller, call)
	p.rest()
	if now := text(first.res); now != kept {
		p.faultf("a result was changed after it was returned:\n was %s\n is  %s", kept, now)
	}
	p.apart(first.res, second.res, "made after it")
	if third := p.try(caller, call); strings.Contains(text(third.res), scribbled) {
		p.faultf("the owner of a result wrote to it, and the next call was answered with what it wrote: %s", text(third.res))
	}
	_, caller = p.apply(waiting(time.Millisecond))
	both := p.together(caller, call, call)
	p.apart(both[0].res, both[1].res, "made at the same time")
}

// apart checks that two results share nothing.
func (p *probe) apart(one, other *mcp.CallToolResult, how string) {
	if one == nil || other == nil {
		return
	}
	before := text(other)
	scribble(one)
	if now := text(other); now != before {
		p.faultf("the owner of one result wrote to it, and the result of another call changed, %s:\n was %s\n is  %s", how, before, now)
	}
}

func concurrent(p *probe) {
	const callers, rounds = 16, 3
	_, caller := p.apply(waiting(time.Millisecond))
	for range rounds {
		var calls []middleware.Call
		for i := range callers {
			calls = append(calls, p.call("a", i), p.call("a", i), p.call("b", i), p.call("b", i))
		}
		for _, f := range p.together(caller, calls...) {
			if got := text(f.res); foreign(got, f.call) {
				p.breakOff("of %d calls at once, the one with arguments %s of scope %q got the answer of another: %s",
					len(calls), f.call.Arguments, f.call.Scope, got)
			}
			if f.res != nil {
				go scribble(f.res) // the race detector sees who else holds it
			}
		}
		synctest.Wait()
	}
}

func foreign(got string, call middleware.Call) bool {
	return strings.Contains(strings.ReplaceAll(got, marker(call), ""), "[answer for ")
}

func passesErrors(p *probe) {
	p.each(func(end ending, f *flight, saw []seen) {
		switch err := end.err; {
		case len(saw) == 0, err == nil, f.err == nil: // it refused, or made a result of it
		case !errors.Is(f.err, err):
			p.faultf("next failed with %q, which is not in the tree of the error returned: %q", err, f.err)
		case middleware.NotSent(f.err) != middleware.NotSent(err):
			p.faultf("next failed with %q, and of the error returned, %q, NotSent is %v", err, f.err, middleware.NotSent(f.err))
		case middleware.Refused(f.err) != middleware.Refused(err):
			p.faultf("next failed with %q, and of the error returned, %q, Refused is %v", err, f.err, middleware.Refused(f.err))
		}
	})
}

func keepsIdentity(p *probe) {
	p.each(func(_ ending, f *flight, saw []seen) {
		for _, s := range saw {
			if s.call.ID != f.call.ID {
				p.faultf("the call has the ID %q, and next got %q", f.call.ID, s.call.ID)
			}
			if s.call.Scope != f.call.Scope {
				p.faultf("the call has the scope %q, and next got %q", f.call.Scope, s.call.Scope)
			}
		}
	})
}

func separatesScopes(p *probe) {
	_, caller := p.apply(waiting(time.Millisecond))
	for _, calls := range [][]middleware.Call{{p.call("a", 1)}, {p.call("b", 1)}, {p.call("", 1)}, {p.call("a", 2), p.call("b", 2)}} {
		for _, f := range p.together(caller, calls...) {
			if got := text(f.res); foreign(got, f.call) {
				p.faultf("the same call of scope %q got the answer of another scope: %s", f.call.Scope, got)
			}
		}
	}
}

func survivesPanic(p *probe) {
	var once sync.Once
	_, caller := p.apply(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		once.Do(func() {
			panic("middlewaretest: next panicked, as a tool may; where this ends the process, " +
				"next was called on a goroutine that does not recover")
		})
		return result(ctx, call)
	})
	ctx, cancel := p.context()
	defer cancel()
	call := p.call("a", 1)
	if f := p.start(ctx, caller, call); !f.returned(patience + soon) {
		p.breakOff("next panicked, and CallTool had not returned %v after its deadline", soon)
	}
	again, cancel := p.context()
	defer cancel()
	f := p.start(again, caller, call)
	if how := p.stuck(); how != "" {
		p.faultf("next had panicked, and the same call was blocked for good [%s]", how)
		close(p.abandoned)
		panic(errBrokenOff)
	}
	if !f.returned(time.Minute) {
		p.faultf("next had panicked, and the same call had not returned within a minute")
	}
}

var errGone = errors.New("the caller has gone")

func honoursContext(p *probe) {
	control, caller := p.apply(result)
	p.try(caller, p.call("a", 1))
	reachesNext := len(control.calls()) > 0

	// A context that is done before the call.
	_, caller = p.apply(result)
	done, cancel := context.WithCancelCause(p.t.Context())
	cancel(errGone)
	early := p.start(done, caller, p.call("a", 1))
	p.ends(early, done, reachesNext, "the context was done before the call")

	// One that is done while next waits, or while the middleware waits before it.
	going, cancel := context.WithCancelCause(p.t.Context())
	defer cancel(nil)
	n, f := p.hold(going)
	waits := !f.returned(0) // and does not answer by itself
	began := len(n.calls())
	cancel(errGone)
	p.ends(f, going, waits, "the context was done during the call")
	if again := len(n.calls()) - began; again > 0 {
		p.faultf("the context was done during the call, and next was called again")
	}

	// A deadline.
	n, caller = p.apply(p.held(nil))
	limited, stop := context.WithTimeout(p.t.Context(), time.Minute)
	defer stop()
	f = p.start(limited, caller, p.call("a", 1))
	f.returned(time.Minute) // or does not
	p.ends(f, limited, limited.Err() != nil && len(n.calls()) > 0, "the context's deadline passed")

	p.crowd()
}

// ends checks that a flight returns soon, and with the end of its context if it must.
func (p *probe) ends(f *flight, ctx context.Context, must bool, when string) {
	if !f.returned(soon) {
		p.breakOff("%s, and %v later CallTool had not returned", when, soon)
	}
	if must && !f.says(ctx) {
		p.faultf("%s, and CallTool returned %s and the error %v", when, text(f.res), f.err)
	}
}

// crowd makes so many calls at once that some may have to queue, and leaves.
func (p *probe) crowd() {
	_, caller := p.apply(p.held(nil))
	ctx, cancel := context.WithCancelCause(p.t.Context())
	defer cancel(nil)
	var crowd []*flight
	for i := range 64 {
		crowd = append(crowd, p.start(ctx, caller, p.call("a", i)))
	}
	synctest.Wait()
	cancel(errGone)
	time.Sleep(soon)
	for _, f := range crowd {
		if !f.returned(0) {
			p.breakOff("the context of 64 calls was done, and %v later some had not returned", soon)
		}
	}
}

func passesContext(p *probe) {
	n, caller := p.apply(result)
	ctx, cancel := p.context()
	defer cancel()
	deadline, _ := ctx.Deadline()
	p.land(p.start(ctx, caller, p.call("a", 1)))
	for _, s := range n.calls() {
		if s.ctx.Value(valueKey{}) != true {
			p.faultf("a value of the caller's context does not reach next")
		}
		got, ok := s.ctx.Deadline()
		switch {
		case !ok:
			p.faultf("the caller's context has a deadline, and the one that next gets has none")
		case got.After(deadline):
			p.faultf("the deadline that next gets is %v after the caller's", got.Sub(deadline))
		}
	}
}

// afterEach makes a call for each way that one may end, and checks after each.
func (p *probe) afterEach(look func(n *next, when string)) {
	for _, end := range endings {
		n, caller := p.apply(end.answer)
		ctx, cancel := context.WithCancel(p.t.Context())
		p.land(p.start(ctx, caller, p.call("a", 1)))
		look(n, "after a call that ended with "+end.name)
		cancel()
	}
	ctx, cancel := p.context()
	n, f := p.hold(ctx)
	cancel()
	p.land(f)
	look(n, "after a call whose context was done")
}

func leavesNothingRunning(p *probe) {
	check := func(when string) {
		if stacks := p.leftovers(); stacks != "" {
			p.breakOff("%s, goroutines were left:\n%s", when, stacks)
		}
	}
	p.afterEach(func(_ *next, when string) { check(when) })

	_, caller := p.apply(waiting(time.Minute))
	staying, cancel := p.context()
	defer cancel()
	leaving, leave := context.WithCancel(staying)
	var crowd []*flight
	for i := range 8 {
		crowd = append(crowd, p.start(leaving, caller, p.call("a", i/4)), p.start(staying, caller, p.call("a", i/4)))
	}
	synctest.Wait()
	leave()
	for _, f := range crowd {
		p.land(f)
	}
	check("after calls of which every other one had been left by its caller")
}

func neverAfterwards(p *probe) {
	p.afterEach(func(n *next, when string) {
		before := len(n.calls())
		p.rest()
		if after := len(n.calls()) - before; after > 0 {
			p.faultf("within an hour %s, next was called %d times more", when, after)
		}
	})
}

func sentOnce(p *probe) {
	if p.tool.Annotations.SafeToRetry() {
		return
	}
	p.each(func(end ending, _ *flight, saw []seen) {
		if len(saw) > 1 && !middleware.NotSent(end.err) && !middleware.Refused(end.err) {
			p.faultf("next answered with %s, and was called %d times for one call", end.name, len(saw))
		}
	})
}

type answer func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error)

// A next is what the middleware is hung before. It keeps the contract.
type next struct {
	answer  answer
	entered chan struct{} // holds one if next was called

	mu   sync.Mutex
	seen []seen
}

type seen struct {
	ctx  context.Context
	call middleware.Call
}

func (n *next) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	n.mu.Lock()
	n.seen = append(n.seen, seen{ctx, call})
	n.mu.Unlock()
	select {
	case n.entered <- struct{}{}:
	default:
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return n.answer(ctx, call)
}

func (n *next) calls() []seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clip(n.seen)
}

func result(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	said := marker(call)
	return &mcp.CallToolResult{
		Meta:              mcp.Meta{"kit": map[string]any{"said": said}},
		Content:           []mcp.Content{&mcp.TextContent{Text: said}},
		StructuredContent: map[string]any{"said": said, "list": []any{map[string]any{"said": said}}},
	}, nil
}

// marker is a text that no other call's answer holds, and that JSON writes as it is.
func marker(call middleware.Call) string {
	return strings.ReplaceAll(fmt.Sprintf("[answer for %q to %s]", call.Scope, call.Arguments), `"`, "'")
}

func reported(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	res, err := result(ctx, call)
	res.IsError = true
	return res, err
}

func failing(err error) answer {
	return func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, err }
}

// waiting answers when the context is done, or with a result once the time has passed.
func waiting(n time.Duration) answer {
	return func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(n):
			return result(ctx, call)
		}
	}
}

// held answers with a result when let go, and earlier when the context is done.
func (p *probe) held(letGo <-chan struct{}) answer {
	return func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-letGo:
		case <-p.quit:
		}
		return result(ctx, call)
	}
}

// What a next may fail with.
var (
	errLost    = errors.New("the connection was lost after the call had left")
	errNotSent = &middleware.NotSentError{Err: errors.New("the connection could not be made")}
	errRefused = &refusedError{}
)

type refusedError struct{}

func (*refusedError) Error() string { return "too many requests" }

func (*refusedError) Refused() bool { return true }

// call returns call number n of its scope. Arguments and tags have room behind their end, to see writes there.
func (p *probe) call(scope string, n int) middleware.Call {
	arguments := fmt.Appendf(make([]byte, 0, 64), `{"number":%d,"of":"middlewaretest"}`, n)
	return middleware.Call{
		ID: fmt.Sprintf("%s-%d", scope, n), Scope: scope, Tool: p.tool, Arguments: arguments,
		Meta: mcp.Meta{"kit": map[string]any{"call": "middlewaretest"}},
	}
}

func snapshot(call middleware.Call) string {
	definition, _ := json.Marshal(call.Tool.Definition) // NewTool has marshalled it once
	annotations, _ := json.Marshal(call.Tool.Annotations)
	meta, _ := json.Marshal(call.Meta)
	input, _ := json.Marshal(call.Input)
	tags := call.Tool.Annotations.Tags
	return fmt.Sprintf("id %s, scope %s, arguments %q, meta %s, input %s, tool %s %x, annotations %s, tags %q, evidence %v, definition %s",
		call.ID, call.Scope, call.Arguments[:cap(call.Arguments)], meta, input, call.Tool, call.Tool.Digest,
		annotations, tags[:cap(tags)], call.Tool.Annotations.Evidence, definition)
}

func text(res *mcp.CallToolResult) string {
	raw, err := json.Marshal(res)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

const scribbled = "scribbled by the caller"

func scribble(res *mcp.CallToolResult) {
	for i, content := range res.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			t.Text = scribbled
		}
		res.Content[i] = &mcp.TextContent{Text: scribbled}
	}
	scribbleValue(map[string]any(res.Meta))
	scribbleValue(res.StructuredContent)
	res.IsError = !res.IsError
}

func scribbleValue(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			scribbleValue(inner)
			v[k] = scribbled
		}
	case []any:
		for i, inner := range v {
			scribbleValue(inner)
			v[i] = scribbled
		}
	case json.RawMessage:
		for i := range v {
			v[i] = '0'
		}
	}
}

// How long a check waits, in the time of the bubble.
const (
	soon     = time.Second      // for a call whose context is done
	patience = 10 * time.Minute // for any other call: a person may be asked
)

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

func (p *probe) try(caller middleware.ToolCaller, call middleware.Call) *flight {
	return p.together(caller, call)[0]
}

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

func (p *probe) rest() {
	time.Sleep(time.Hour)
	synctest.Wait()
}

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
