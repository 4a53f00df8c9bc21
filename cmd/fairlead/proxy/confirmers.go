package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
)

// Fallback asks the first; where that one's client cannot be asked, the next.
func Fallback(confirmers ...hitl.Confirmer) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		var none error
		for _, c := range confirmers {
			decision, err := c.Confirm(ctx, r)
			if !errors.Is(err, elicit.ErrUnsupported) {
				return decision, err
			}
			none = errors.Join(none, err)
		}
		return hitl.Decision{}, none
	})
}

// First asks all at once, and the first answer wins. An error or a panic is not an answer. A client
// that is asked by the end of its call, and repeats it with the answer, is asked alone. None is nil.
func First(confirmers ...hitl.Confirmer) hitl.Confirmer {
	switch len(confirmers) {
	case 0:
		return nil
	case 1:
		return confirmers[0]
	}
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		if r.Input != nil { // the middlewares further out do not have its meaning
			return Fallback(confirmers...).Confirm(ctx, r)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		answers := make(chan answered, len(confirmers))
		for _, c := range confirmers {
			go func() {
				a := answered{err: fmt.Errorf("proxy: %T panicked", c)}
				defer func() {
					_ = recover()
					answers <- a
				}()
				own := r
				own.Arguments = bytes.Clone(r.Arguments)
				a.decision, a.err = c.Confirm(ctx, own)
			}()
		}
		var none error
		for range confirmers {
			got := <-answers
			if _, pending := errors.AsType[*hitl.PendingError](got.err); got.err == nil || pending {
				return got.decision, got.err
			}
			none = errors.Join(none, got.err)
		}
		return hitl.Decision{}, none
	})
}

type answered struct {
	decision hitl.Decision
	err      error
}
