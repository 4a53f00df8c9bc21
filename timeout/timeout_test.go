package timeout_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func estimated(a annotation.Annotations, estimate time.Duration) *middleware.Tool {
	a.EstimatedDuration = estimate
	return testtool.New("s", "a", a)
}

// hang answers when its context is done, as an executor should.
var hang = middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("calling: %w", ctx.Err())
})

func TestHowLongAnAttemptMayTake(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		name     string
		opts     timeout.Options
		estimate time.Duration
		deadline time.Duration // the caller's; 0 for none
		want     time.Duration
	}{
		{"no estimate: the default", timeout.Options{}, 0, 0, 60 * s},
		{"no estimate: the host's default", timeout.Options{Default: 7 * s}, 0, 0, 7 * s},
		{"an invalid estimate counts as none", timeout.Options{}, -s, 0, 60 * s},
		{"the estimate times five", timeout.Options{}, 4 * s, 0, 20 * s},
		{"the estimate times the host's factor", timeout.Options{Factor: 2.5}, 8 * s, 0, 20 * s},
		{"a short estimate: the floor", timeout.Options{}, time.Millisecond, 0, 10 * s},
		{"a short estimate: the host's floor", timeout.Options{Floor: 2 * s}, time.Millisecond, 0, 2 * s},
		{"a long estimate: the cap", timeout.Options{}, time.Hour, 0, 600 * s},
		{"a long estimate: the host's cap", timeout.Options{Cap: 90 * s}, time.Hour, 0, 90 * s},
		{"an estimate that overflows", timeout.Options{Factor: math.MaxFloat64}, math.MaxInt64, 0, 600 * s},
		{"a cap below the usual floor", timeout.Options{Cap: 3 * s}, time.Millisecond, 0, 3 * s},
		{"a floor above the usual cap", timeout.Options{Floor: time.Hour}, s, 0, time.Hour},
		{"what an untrusted server may claim does not stretch it", timeout.Options{}, 10 * s, 0, 50 * s},
		{"the caller's deadline wins", timeout.Options{}, 4 * s, 3 * s, 3 * s},
		{"a caller's later deadline does not", timeout.Options{}, 4 * s, 30 * s, 20 * s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				start := time.Now()
				_, err := timeout.New(tt.opts)(hang).CallTool(ctx, middleware.Call{Tool: estimated(annotation.ReadOnly(), tt.estimate)})
				if got := time.Since(start); got != tt.want {
					t.Errorf("ended after %v, want %v", got, tt.want)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want a deadline exceeded", err)
				}
				var own *timeout.Error
				if byUs := errors.As(err, &own); byUs != (tt.want != tt.deadline) {
					t.Errorf("got %v: our own limit: %v", err, byUs)
				} else if byUs && own.After != tt.want {
					t.Errorf("the error has %v, want %v", own.After, tt.want)
				}
			})
		})
	}
}

func TestNewPanicsForWhatIsNoLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		opts timeout.Options
		want string
	}{
		{timeout.Options{Default: -1}, "timeout: Options.Default is negative"},
		{timeout.Options{Floor: -1}, "timeout: Options.Floor is negative"},
		{timeout.Options{Cap: -1}, "timeout: Options.Cap is negative"},
		{timeout.Options{Factor: -1}, "timeout: Options.Factor is negative"},
		{timeout.Options{Factor: math.NaN()}, "timeout: Options.Factor is not finite"},
		{timeout.Options{Factor: math.Inf(1)}, "timeout: Options.Factor is not finite"},
		{timeout.Options{Floor: 2, Cap: 1}, "timeout: Options.Floor is 2ns, more than the Cap of 1ns"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, tt.want) {
					t.Errorf("got panic %q, want one that begins with %q", got, tt.want)
				}
			}()
			timeout.New(tt.opts)
		})
	}
}

// A notSent reports that the call did not leave.
type notSent struct{ error }

func (notSent) NotSent() bool   { return true }
func (n notSent) Unwrap() error { return n.error }

func TestUnsafeCallThatRunsOutIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user left")
	plain := func(ctx context.Context) error { return ctx.Err() }
	for _, class := range []struct {
		name    string
		a       annotation.Annotations
		unknown bool
	}{
		{"safe", annotation.ReadOnly(), false},
		{"moderate", annotation.Write(), true},
		{"dangerous", annotation.Destructive(), true},
		{"unknown", annotation.Annotations{}, true},
	} {
		for _, tt := range []struct {
			name   string
			cancel time.Duration                   // when the caller leaves; 0 for never
			fails  func(ctx context.Context) error // how the executor reports the end
			want   error
			sent   bool
		}{
			{"its own limit", 0, plain, context.DeadlineExceeded, true},
			{"its own limit, reported otherwise", 0, func(context.Context) error { return errors.New("broken pipe") }, context.DeadlineExceeded, true},
			{"its own limit, known further in", 0, func(ctx context.Context) error {
				return middleware.OutcomeUnknown(middleware.Call{Tool: estimated(class.a, 0)}, ctx.Err())
			}, context.DeadlineExceeded, true},
			{"its own limit, not sent", 0, func(ctx context.Context) error { return notSent{ctx.Err()} }, context.DeadlineExceeded, false},
			{"the caller left", time.Second, plain, cause, true},
			{"the caller left, reported with the cause", time.Second, context.Cause, cause, true},
			{"the caller left, not sent", time.Second, func(ctx context.Context) error { return notSent{ctx.Err()} }, cause, false},
		} {
			t.Run(class.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					if tt.cancel > 0 {
						time.AfterFunc(tt.cancel, func() { cancel(cause) })
					}
					next := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
						<-ctx.Done()
						return nil, tt.fails(ctx)
					})
					_, err := timeout.New(timeout.Options{})(next).CallTool(ctx, middleware.Call{Tool: estimated(class.a, 0)})
					if !errors.Is(err, tt.want) {
						t.Errorf("got %v, want %v in it", err, tt.want)
					}
					var unknown *middleware.OutcomeUnknownError
					if got, want := errors.As(err, &unknown), class.unknown && tt.sent; got != want {
						t.Errorf("got %v: unknown outcome: %v, want %v", err, got, want)
					} else if got && middleware.ForModel(err) != unknown.Check {
						t.Errorf("the model reads %q", middleware.ForModel(err))
					}
					if got := middleware.NotSent(err); got == tt.sent {
						t.Errorf("got %v: not sent: %v", err, got)
					}
					if n := strings.Count(err.Error(), cause.Error()); n > 1 {
						t.Errorf("got %v: the cause is reported %d times", err, n)
					}
					var own *timeout.Error
					if got, want := errors.As(err, &own), tt.cancel == 0; got != want {
						t.Errorf("got %v: our own limit: %v, want %v", err, got, want)
					}
				})
			})
		}
	}
}

func TestCallersDeadlineIsAnUnknownOutcomeToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := timeout.New(timeout.Options{})(hang).CallTool(ctx, middleware.Call{Tool: estimated(annotation.Write(), 0)})
		var unknown *middleware.OutcomeUnknownError
		if !errors.As(err, &unknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want an unknown outcome by the deadline", err)
		}
	})
}

func TestOtherFailuresPass(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, down })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for name, ctx := range map[string]context.Context{"own timer": t.Context(), "the caller's": ctx} {
		if _, err := timeout.New(timeout.Options{})(next).CallTool(ctx, middleware.Call{Tool: estimated(annotation.Write(), 0)}); err != down {
			t.Errorf("%s: got %v, want it as it was", name, err)
		}
	}
}

func TestLateAnswerIsReturned(t *testing.T) {
	t.Parallel()
	for name, deadline := range map[string]time.Duration{"own timer": time.Hour, "the caller's": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				want := new(mcp.CallToolResult)
				next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					time.Sleep(2 * time.Minute)
					return want, nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				got, err := timeout.New(timeout.Options{})(next).CallTool(ctx, middleware.Call{Tool: estimated(annotation.Write(), 0)})
				if got != want || err != nil {
					t.Errorf("got %v, %v, want the answer", got, err)
				}
			})
		})
	}
}

func TestNothingStartsWhenTheContextIsDone(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		t.Error("B311: it was called")
		return new(mcp.CallToolResult), nil
	})
	_, err := timeout.New(timeout.Options{})(next).CallTool(ctx, middleware.Call{Tool: estimated(annotation.Write(), 0)})
	if !errors.Is(err, cause) || !middleware.NotSent(err) {
		t.Errorf("got %v (not sent: %v), want the cause, not sent", err, middleware.NotSent(err))
	}
}

func TestEachAttemptHasItsOwnLimitAndTheCauseIsSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var causes []error
		next := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			causes = append(causes, context.Cause(ctx))
			return nil, ctx.Err()
		})
		c := timeout.New(timeout.Options{Default: time.Second})(next)
		for range 2 {
			_, _ = c.CallTool(t.Context(), middleware.Call{Tool: estimated(annotation.ReadOnly(), 0)})
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("two attempts took %v, want 2s", got)
		}
		var own *timeout.Error
		if !errors.As(causes[1], &own) || own.After != time.Second {
			t.Errorf("the attempt's cause: got %v", causes[1])
		}
	})
}

func TestCallWithoutToolHasTheDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := timeout.New(timeout.Options{})(hang).CallTool(t.Context(), middleware.Call{})
		if got := time.Since(start); got != time.Minute || err == nil {
			t.Errorf("got %v after %v", err, got)
		}
	})
}

func TestDescribedKindAndPromise(t *testing.T) {
	t.Parallel()
	c := timeout.New(timeout.Options{})(hang)
	if got := c.(middleware.Describer).Describe().Kind; got != "timeout" {
		t.Errorf("kind: got %q", got)
	}
	if got := c.(middleware.Describer).Describe(); !got.Deadlines || got.Next == nil {
		t.Errorf("described as %+v", got)
	}
}

var answer = new(mcp.CallToolResult)

var noop = middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return answer, nil })

func TestAllocsUnderACallersEarlierDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c := timeout.New(timeout.Options{})(noop)
	call := middleware.Call{Tool: estimated(annotation.ReadOnly(), 0)}
	if got := testing.AllocsPerRun(100, func() { _, _ = c.CallTool(ctx, call) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

// An attempt allocates what the standard library's own time limit does.
func TestAllocsOfAnOwnLimit(t *testing.T) {
	c := timeout.New(timeout.Options{})(noop)
	for _, call := range []middleware.Call{{Tool: estimated(annotation.ReadOnly(), 0)}, {Tool: estimated(annotation.ReadOnly(), time.Minute)}, {}} {
		own := testing.AllocsPerRun(100, func() { _, _ = c.CallTool(context.Background(), call) })
		bare := testing.AllocsPerRun(100, func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, _ = noop.CallTool(ctx, call)
		})
		if own != bare {
			t.Errorf("tool %v: %v allocations, want context.WithTimeout's %v", call.Tool, own, bare)
		}
	}
}

func BenchmarkTimeout(b *testing.B) {
	earlier, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	defer cancel()
	for name, ctx := range map[string]context.Context{"own timer": context.Background(), "caller's earlier deadline": earlier} {
		b.Run(name, func(b *testing.B) {
			c := timeout.New(timeout.Options{})(noop)
			call := middleware.Call{Tool: estimated(annotation.ReadOnly(), 0)}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.CallTool(ctx, call)
			}
		})
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, timeout.New(timeout.Options{}))
}

// refusedNeighbour is how another call of the same group ended, which is why the
// group's context is done: errgroup gives it as the cause.
var errNeighbour = &middleware.NotSentError{Err: errors.New("a person said no")}

// A cause that another call was not sent does not describe a call that was in flight.
func TestCauseOfTheEndDoesNotDescribeTheCall(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context) error{
		"the context's error":  func(ctx context.Context) error { return ctx.Err() },
		"wrapped":              func(ctx context.Context) error { return fmt.Errorf("calling: %w", ctx.Err()) },
		"the context's cause":  context.Cause,
		"of a call that ended": func(context.Context) error { return errors.New("connection reset") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			sent := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
				cancel(errNeighbour)
				<-ctx.Done()
				return nil, end(ctx)
			})
			call := middleware.Call{Tool: estimated(annotation.Destructive(), 0)}
			_, err := timeout.New(timeout.Options{})(sent).CallTool(ctx, call)
			if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); !unknown || middleware.NotSent(err) {
				t.Errorf("a call that was under way ended with %v; not sent: %v", err, middleware.NotSent(err))
			}
			if !errors.Is(err, errNeighbour) {
				t.Errorf("the cause is not in %v", err)
			}
		})
	}
}
