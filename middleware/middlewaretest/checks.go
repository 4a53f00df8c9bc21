package middlewaretest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	{"each application calls its own next.", callsItsOwnNext},
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

func callsItsOwnNext(p *probe) {
	left, first := p.apply(result)
	right, second := p.apply(result)
	p.try(first, p.call("a", 1))
	p.try(second, p.call("a", 2))
	for _, n := range []struct {
		next  *next
		other int
	}{{left, 2}, {right, 1}} {
		foreign := p.call("a", n.other)
		for _, saw := range n.next.calls() {
			if string(saw.call.Arguments) == string(foreign.Arguments) {
				p.faultf("a call was made by the next of another application")
			}
		}
	}
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

// foreign reports whether an answer is that of another call.
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
