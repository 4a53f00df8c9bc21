package preflight

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bounded"
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

// once asks within a time of its own, so that the call keeps its own.
func (j *judge) once(ctx context.Context, call middleware.Call) (annotation.Annotations, bool, error) {
	type answered struct {
		answer annotation.Annotations
		ok     bool
	}
	late := time.Now().Add(j.Timeout)
	a, err := bounded.Do(callstate.Leave(ctx), j.asking, func(ctx context.Context) (a answered, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = j.panicked(ctx, call, "the resolver", v)
			}
		}()
		a.answer, a.ok, err = j.Resolver.Resolve(ctx, call)
		return a, err
	}, nil)
	// Both at once: too late is too late. The context's own timer may not have run yet.
	if !time.Now().Before(late) && (err == nil || errors.Is(err, context.DeadlineExceeded)) {
		return annotation.Annotations{}, false, fmt.Errorf("no answer within %v", j.Timeout)
	}
	return a.answer, a.ok, err
}
