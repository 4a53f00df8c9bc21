package cause_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/internal/cause"
)

type fact struct{ text string }

func (f *fact) Error() string { return f.text }
func (*fact) NotSent() bool   { return true }

type facts []error // not comparable

func (facts) Error() string     { return "several" }
func (f facts) Unwrap() []error { return f }

// The cause's facts do not apply to the error, wherever the cause is; the error's own do.
func TestOf(t *testing.T) {
	t.Parallel()
	why, own, plain := &fact{"another was not sent"}, &fact{"this was not sent"}, errors.New("reset")
	for _, tt := range []struct {
		name  string
		why   error
		err   error
		tells error // the fact that is found
	}{
		{"an error without facts", why, plain, nil},
		{"an error with facts", why, own, own},
		{"one in its tree", why, fmt.Errorf("a: %w", errors.Join(plain, own)), own},
		{"the cause itself", why, why, nil},
		{"the cause in its tree", why, fmt.Errorf("a: %w", errors.Join(plain, why)), nil},
		{"both", why, errors.Join(why, own), own},
		{"a cause that holds others", facts{why}, facts{plain, own}, own},
		{"no cause but the end itself", context.Canceled, own, own},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(tt.why)
		got := cause.Of(ctx, tt.err)
		found, ok := errors.AsType[interface {
			error
			NotSent() bool
		}](got)
		if ok != (tt.tells != nil) || ok && found != tt.tells {
			t.Errorf("%s: found %v, want %v", tt.name, found, tt.tells)
		}
		if tt.why == error(why) && !errors.Is(got, why) || tt.err != nil && errors.Is(tt.err, plain) && !errors.Is(got, plain) {
			t.Errorf("%s: the cause, or the error, is not in %v", tt.name, got)
		}
	}
	if got := cause.Of(context.Background(), plain); got != plain {
		t.Errorf("where no context is done: got %v", got)
	}
}

func TestBareIsTheContextsOwnError(t *testing.T) {
	t.Parallel()
	why, plain := errors.New("the host went away"), errors.New("reset")
	ctx, cancel := context.WithCancelCause(t.Context())
	if got := cause.Bare(ctx, plain); got != plain {
		t.Errorf("where no context is done: got %v", got)
	}
	cancel(why)
	if got := cause.Bare(ctx, fmt.Errorf("calling: %w", why)); got != context.Canceled {
		t.Errorf("with the cause in it: got %v", got)
	}
	if got := cause.Bare(ctx, plain); got != plain {
		t.Errorf("without it: got %v", got)
	}
	if end := cause.End(ctx); !errors.Is(end, why) || errors.Is(end, plain) {
		t.Errorf("the end is %v", end)
	}
}
