package preflight

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Resolver asks a tool's server what a call with exactly these arguments would
// do. ok is false where the server has not offered to answer, and then it has not
// been asked. Hints that the server left out are unset. It returns soon after ctx is
// done; mount.Resolver is one.
//
// An error with a method InvalidArguments() bool that says yes ends the call: the
// server called the arguments invalid. One with a method Permanent() bool that says
// yes is not asked again.
type Resolver interface {
	Resolve(ctx context.Context, call middleware.Call) (answer annotation.Annotations, ok bool, err error)
}

// ask asks the call's server, once more where it failed.
func (j *judge) ask(ctx context.Context, call middleware.Call) (answer annotation.Annotations, ok bool, err error) {
	for range attempts {
		answer, ok, err = j.once(ctx, call)
		if ctx.Err() != nil {
			return answer, false, fault.GivenUp(ctx)
		}
		if _, later := middleware.RetryAfter(err); err == nil || later || invalid(err) || middleware.Permanent(err) {
			break
		}
	}
	return answer, ok, err
}

// attempts is how often a server is asked about one call.
const attempts = 2

// once asks within a time of its own, so that the call keeps its own. A resolver that
// ignores its context is given up, and counts among the places until it returns.
func (j *judge) once(ctx context.Context, call middleware.Call) (annotation.Annotations, bool, error) {
	silent := fmt.Errorf("no answer within %v", j.Timeout)
	ctx, cancel := context.WithTimeoutCause(callstate.Leave(ctx), j.Timeout, silent)
	defer cancel()
	select {
	case j.places <- struct{}{}:
	case <-ctx.Done():
		return annotation.Annotations{}, false, silent
	}
	type answered struct {
		answer annotation.Annotations
		ok     bool
		err    error
	}
	done := make(chan answered, 1)
	go func() {
		a := answered{err: errors.New("the resolver ended the goroutine")}
		defer func() {
			if v := recover(); v != nil {
				a = answered{err: j.panicked(ctx, call, "the resolver", v)}
			}
			<-j.places
			done <- a
		}()
		a.answer, a.ok, a.err = j.Resolver.Resolve(ctx, call)
	}()
	var a answered
	select {
	case a = <-done:
	case <-ctx.Done():
		select {
		case a = <-done:
		case <-time.After(grace):
			return annotation.Annotations{}, false, silent
		}
	}
	// Both at once: too late is too late. The context's own timer may not have run yet.
	deadline, _ := ctx.Deadline()
	if late := !time.Now().Before(deadline); late && (a.err == nil || errors.Is(a.err, context.DeadlineExceeded)) {
		a.err = silent
	}
	return a.answer, a.ok, a.err
}

const (
	maxAsking = 256                    // questions that have not returned; the next wait for a place
	grace     = 100 * time.Millisecond // in which a resolver that looks at its context has returned
)
