package middlewaretest

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

func leavesNothingRunning(p *probe) {
	check := func(when string) {
		if stacks := p.leftovers(); stacks != "" {
			p.breakOff("%s, goroutines were left:\n%s", when, stacks)
		}
	}
	for _, end := range endings {
		_, caller := p.apply(end.answer)
		ctx, cancel := p.context() // and it stays open while we look
		p.land(p.start(ctx, caller, p.call("a", 1)))
		check("after a call that ended with " + end.name)
		cancel()
	}

	n, caller := p.apply(p.held(nil))
	ctx, cancel := p.context()
	f := p.start(ctx, caller, p.call("a", 1))
	select {
	case <-n.entered:
	case <-f.done:
	}
	cancel()
	p.land(f)
	check("after a call whose context was done")

	_, caller = p.apply(waiting(time.Minute, result))
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
	look := func(n *next, when string) {
		before := len(n.calls())
		p.rest()
		if after := len(n.calls()) - before; after > 0 {
			p.faultf("within an hour %s, next was called %d times more", when, after)
		}
	}
	for _, end := range endings {
		n, caller := p.apply(end.answer)
		ctx, cancel := p.context()
		p.land(p.start(context.WithoutCancel(ctx), caller, p.call("a", 1)))
		look(n, "after a call that ended with "+end.name)
		cancel()
	}
	n, caller := p.apply(p.held(nil))
	ctx, cancel := p.context()
	f := p.start(ctx, caller, p.call("a", 1))
	select {
	case <-n.entered:
	case <-f.done:
	}
	cancel()
	p.land(f)
	look(n, "after a call whose context was done")
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
