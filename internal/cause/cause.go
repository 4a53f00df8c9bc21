// Package cause separates what an error reports about a call from what only the cause of its context's end
// reports. That cause is often how another call ended, as in an errgroup.
package cause

import (
	"context"
	"errors"
	"reflect"
)

// Of returns err, with which a call ended whose context is done, together with the context's cause. errors.Is
// finds both; errors.As finds only the facts of err, not those of the cause, such as that it was not sent.
func Of(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	why := context.Cause(ctx)
	if why == nil || why == ctx.Err() { //nolint:errorlint // exactly this: it tells nothing
		return err
	}
	return &ended{why: why, err: err}
}

// End returns how the context ended, with its cause as [Of] has it.
func End(ctx context.Context) error { return Of(ctx, context.Cause(ctx)) }

// Bare returns how the context ended if err has that end's cause in it, and err otherwise.
func Bare(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil && errors.Is(err, why) {
		return ctx.Err()
	}
	return err
}

// An ended error is err, with which a call ended, behind the cause of its context's end. errors.Is finds both, and
// errors.As finds only what is in err, since the facts of the cause are about another call.
type ended struct{ why, err error }

func (e *ended) Error() string {
	if errors.Is(e.err, e.why) {
		return e.err.Error()
	}
	return e.why.Error() + ": " + e.err.Error()
}

func (e *ended) Is(target error) bool { return errors.Is(e.why, target) || errors.Is(e.err, target) }

// As finds the target in the error's tree without the cause.
func (e *ended) As(target any) bool { return e.find(e.err, target) }

// find is errors.As on err without the cause, which err may wrap as well.
func (e *ended) find(err error, target any) bool {
	if err == nil || same(err, e.why) {
		return false
	}
	if found := reflect.ValueOf(target).Elem(); reflect.TypeOf(err).AssignableTo(found.Type()) {
		found.Set(reflect.ValueOf(err))
		return true
	}
	if own, ok := err.(interface{ As(target any) bool }); ok && own.As(target) {
		return true
	}
	switch err := err.(type) { //nolint:errorlint // likewise
	case interface{ Unwrap() error }:
		return e.find(err.Unwrap(), target)
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			if e.find(one, target) {
				return true
			}
		}
	}
	return false
}

func same(a, b error) bool { return reflect.TypeOf(a).Comparable() && a == b } //nolint:errorlint // exactly this one
