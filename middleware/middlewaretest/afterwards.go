package middlewaretest

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

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
