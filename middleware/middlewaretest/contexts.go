package middlewaretest

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

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
	if !early.returned(soon) {
		p.breakOff("the context was done before the call, and %v later CallTool had not returned", soon)
	}
	if reachesNext && !early.says(done) {
		p.faultf("the context was done before the call, and CallTool returned %s and the error %v", text(early.res), early.err)
	}

	// One that is done while next waits, or while the middleware waits before it.
	going, cancel := context.WithCancelCause(p.t.Context())
	defer cancel(nil)
	n, f := p.hold(going)
	waits := !f.returned(0) // and does not answer by itself
	began := len(n.calls())
	cancel(errGone)
	if !f.returned(soon) {
		p.breakOff("the context was done during the call, and %v later CallTool had not returned", soon)
	}
	if waits && !f.says(going) {
		p.faultf("the context was done during the call, and CallTool returned %s and the error %v", text(f.res), f.err)
	}
	if again := len(n.calls()) - began; again > 0 {
		p.faultf("the context was done during the call, and next was called again")
	}

	// A deadline.
	n, caller = p.apply(p.held(nil))
	limited, stop := context.WithTimeout(p.t.Context(), time.Minute)
	defer stop()
	f = p.start(limited, caller, p.call("a", 1))
	if !f.returned(time.Minute + soon) {
		p.breakOff("the context's deadline passed, and %v later CallTool had not returned", soon)
	}
	if limited.Err() != nil && len(n.calls()) > 0 && !f.says(limited) {
		p.faultf("the context's deadline passed, and CallTool returned %s and the error %v", text(f.res), f.err)
	}

	p.crowd()
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

// afterEach makes a call for each way in which one may end, and looks after each of them.
// The context is still open then, unless it was what ended the call.
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

	_, caller := p.apply(waiting(time.Minute, result))
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
	lost := &middleware.OutcomeUnknownError{Tool: p.tool, Check: "look", Err: errLost}
	for _, end := range []struct {
		name   string
		answer answer
	}{
		{"a lost connection", failing(errLost)},
		{"an unknown outcome", failing(lost)},
		{"a deadline of its own", failing(context.DeadlineExceeded)},
		{"a failure that the tool reported", reported},
		{"a result", result},
	} {
		n, caller := p.apply(end.answer)
		p.try(caller, p.call("a", 1))
		if sent := len(n.calls()); sent > 1 {
			p.faultf("next answered with %s, and was called %d times for one call", end.name, sent)
		}
	}
}
