// Package bounded calls functions of the host's that may not return in time, or ever.
package bounded

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A Bound is what the calls of one kind have in common. It is safe for concurrent use.
type Bound struct {
	Limit  time.Duration  // of one call
	Most   int64          // calls that were given up and have not returned, beside which none is made; 0 means 100
	Name   string         // for the log
	Logger *slog.Logger   // gets a line for each call that was given up or panicked
	Late   *atomic.Uint64 // counts those that were given up, or not made beside them

	stuck atomic.Int64
}

// grace is the time in which a function that looks at its context has returned.
const grace = 100 * time.Millisecond

var (
	errFailed = errors.New("it panicked, or ended its goroutine")
	errStuck  = errors.New("too many earlier calls have not returned")
)

// A slowError is the limit within which there was no answer.
type slowError time.Duration

func (e slowError) Error() string { return "no answer within " + time.Duration(e).String() }

type outcome[T any] struct {
	value T
	err   error
}

// Do returns what f returns, or an error if f has not returned soon after the limit, or
// after ctx is done. If f succeeds later, undo receives its value; nil means that there is
// nothing to undo.
func Do[T any](ctx context.Context, b *Bound, f func(context.Context) (T, error), undo func(T)) (value T, err error) {
	if b.stuck.Load() >= cmp.Or(b.Most, 100) {
		b.Late.Add(1)
		return value, errStuck
	}
	slow := slowError(b.Limit)
	ctx, cancel := context.WithTimeoutCause(ctx, b.Limit, slow)
	defer cancel()
	done, gone := make(chan outcome[T]), make(chan struct{})
	go func() {
		o := outcome[T]{err: errFailed}
		defer func() {
			if v := recover(); v != nil {
				b.Logger.LogAttrs(ctx, slog.LevelError, b.Name+" panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			}
			select {
			case done <- o:
			case <-gone:
				b.stuck.Add(-1)
				if o.err == nil && undo != nil {
					undo(o.value)
				}
			}
		}()
		o.value, o.err = f(ctx)
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-timer.C:
	}
	b.Late.Add(1)
	b.stuck.Add(1)
	close(gone)
	b.Logger.LogAttrs(ctx, slog.LevelWarn, b.Name+" has not returned in time and is given up")
	return value, slow
}
