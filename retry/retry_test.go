package retry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A failure is an error with the facts that the test sets.
type failure struct {
	notSent, refused, permanent bool
	after                       time.Duration
}

func (f *failure) Error() string             { return fmt.Sprintf("failure %+v", *f) }
func (f *failure) NotSent() bool             { return f.notSent }
func (f *failure) Refused() bool             { return f.refused }
func (f *failure) Permanent() bool           { return f.permanent }
func (f *failure) RetryAfter() time.Duration { return f.after }

var errLost = errors.New("the connection was lost")

// An executor fails with err and records when it was called. It stops failing
// after the given number of times, 0 for never.
type executor struct {
	err   error
	fails int
	start time.Time
	at    []time.Duration
}

func failing(err error) *executor { return &executor{err: err, start: time.Now()} }

var answer = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}

func (e *executor) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	e.at = append(e.at, time.Since(e.start))
	if e.fails > 0 && len(e.at) > e.fails {
		return answer, nil
	}
	return nil, e.err
}

func (e *executor) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(e.at); i++ {
		waits = append(waits, e.at[i]-e.at[i-1])
	}
	return waits
}

// always is a source that returns only f, so that a wait is f of its bound.
func always(f float64) func() float64 { return func() float64 { return f } }

func TestContract(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, retry.New(retry.Options{}), testtool.New("files", "tool", annotation.Update()))
}

func TestOnlyWhatIsSafeToRepeatOrWasNotSentIsRepeated(t *testing.T) {
	t.Parallel()
	attributed := func(a annotation.Annotations, s annotation.Source) annotation.Annotations { return a.Attribute(s, "") }
	errs := []struct {
		name string
		err  func(*middleware.Tool) error
	}{
		{"not sent", func(*middleware.Tool) error { return &failure{notSent: true} }},
		{"refused", func(*middleware.Tool) error { return &failure{refused: true} }},
		{"plain", func(*middleware.Tool) error { return errLost }},
		{"B125: cut off", func(*middleware.Tool) error { return fmt.Errorf("reading: %w", context.DeadlineExceeded) }},
		{"unknown outcome", func(t *middleware.Tool) error {
			return &middleware.OutcomeUnknownError{Tool: t, Err: errLost}
		}},
		{"B131: permanent", func(*middleware.Tool) error { return &failure{permanent: true} }},
		{"permanent and not sent", func(*middleware.Tool) error { return &failure{permanent: true, notSent: true, refused: true} }},
		{"says no to everything", func(*middleware.Tool) error { return &failure{} }},
	}
	for _, tt := range []struct {
		class    string
		a        annotation.Annotations
		inferred bool     // Options.Inferred
		repeats  []string // besides "not sent" and "refused"
		unknown  bool     // what may have happened ends as an OutcomeUnknownError
	}{
		{"safe", annotation.ReadOnly(), false, []string{"plain", "B125: cut off", "unknown outcome", "says no to everything"}, false},
		{"moderate", annotation.Write(), false, nil, true},
		{"moderate, idempotent by the host", annotation.Update(), false, []string{"plain", "B125: cut off", "unknown outcome", "says no to everything"}, true},
		{"moderate, idempotent as declared", attributed(annotation.Update(), annotation.Declared), false, []string{"plain", "B125: cut off", "unknown outcome", "says no to everything"}, true},
		{"moderate, idempotence inferred", attributed(annotation.Update(), annotation.Inferred), false, nil, true},
		{"moderate, idempotence inferred, and the host accepts it", attributed(annotation.Update(), annotation.Inferred), true, []string{"plain", "B125: cut off", "unknown outcome", "says no to everything"}, true},
		{"moderate, and the host accepts inference", attributed(annotation.Write(), annotation.Inferred), true, nil, true},
		{"dangerous", annotation.Destructive(), false, nil, true},
		{"dangerous and idempotent", annotation.Annotations{Destructive: annotation.Yes, Idempotent: annotation.Yes}, false, nil, true},
		{"dangerous, idempotence inferred, and the host accepts it", attributed(annotation.Annotations{Destructive: annotation.Yes, Idempotent: annotation.Yes}, annotation.Inferred), true, nil, true},
		{"read-only that needs confirmation", annotation.Annotations{ReadOnly: annotation.Yes, RequiresConfirmation: annotation.Yes}, false, nil, true},
		{"unknown", annotation.Annotations{}, false, nil, true},
		{"unknown and idempotent", annotation.Annotations{Idempotent: annotation.Yes}, true, nil, true},
	} {
		for _, failed := range errs {
			t.Run(tt.class+", "+failed.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					on := testtool.New("files", "tool", tt.a)
					e := failing(failed.err(on))
					res, err := retry.New(retry.Options{Inferred: tt.inferred})(e).CallTool(t.Context(), middleware.Call{Tool: on})
					left := failed.name == "not sent" || failed.name == "refused"
					want := 1
					if left || slices.Contains(tt.repeats, failed.name) {
						want = 3
					}
					if len(e.at) != want {
						t.Errorf("got %d attempts, want %d", len(e.at), want)
					}
					if res != nil || !errors.Is(err, e.err) {
						t.Errorf("got %v and error %v, want the one of the attempt in its tree", res, err)
					}
					if got := errors.Is(err, retry.ErrExhausted); got != (want == 3) {
						t.Errorf("exhausted: got %t, want %t", got, want == 3)
					}
					_, unknown := errors.AsType[*retry.OutcomeUnknownError](err)
					if want := failed.name == "unknown outcome" || tt.unknown && !left && !strings.Contains(failed.name, "permanent"); unknown != want {
						t.Errorf("unknown outcome: got %t, want %t (%v)", unknown, want, err)
					}
				})
			})
		}
	}
}

// B123, B127: an unsafe call may be made again until it has left, and not after.
func TestUnsafeCallIsMadeAgainOnlyUntilItHasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := 0
		next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			if made++; made < 2 {
				return nil, &failure{notSent: true}
			}
			return nil, errLost
		})
		_, err := retry.New(retry.Options{Attempts: 10})(next).CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", annotation.Destructive())})
		unknown, ok := errors.AsType[*retry.OutcomeUnknownError](err)
		if made != 2 || !ok {
			t.Fatalf("got %d attempts and error %v, want 2 and an unknown outcome", made, err)
		}
		if !strings.Contains(unknown.Check, "Do not call it again") {
			t.Errorf("the model reads %q", unknown.Check)
		}
	})
}

// An attempt that may have happened stays in what the call ends with: a later one
// that was not sent does not make the whole call one that was not sent.
func TestLaterAttemptDoesNotHideOneThatMayHaveHappened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := 0
		next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			if made++; made < 2 {
				return nil, errLost
			}
			return nil, &failure{notSent: true}
		})
		_, err := retry.New(retry.Options{Attempts: 2})(next).CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", annotation.Update())})
		if _, unknown := errors.AsType[*retry.OutcomeUnknownError](err); made != 2 || !unknown || middleware.NotSent(err) {
			t.Fatalf("got %d attempts and error %v (not sent: %v), want 2 and an unknown outcome", made, err, middleware.NotSent(err))
		}
	})
}

func TestResultIsNeverRepeated(t *testing.T) {
	t.Parallel()
	for _, res := range []*mcp.CallToolResult{answer, {IsError: true}, {RequestState: "s"}, {}} {
		made := 0
		next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { made++; return res, nil })
		got, err := retry.New(retry.Options{})(next).CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())})
		if got != res || err != nil || made != 1 {
			t.Errorf("%+v: got %+v and error %v after %d attempts", res, got, err, made)
		}
	}
}

func TestCallWithoutATool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failing(errLost)
		if _, err := retry.New(retry.Options{})(e).CallTool(t.Context(), middleware.Call{}); !errors.Is(err, errLost) || len(e.at) != 1 {
			t.Errorf("got error %v after %d attempts", err, len(e.at))
		}
		e = failing(&failure{notSent: true})
		if _, err := retry.New(retry.Options{})(e).CallTool(t.Context(), middleware.Call{}); !errors.Is(err, e.err) || len(e.at) != 3 {
			t.Errorf("got error %v after %d attempts", err, len(e.at))
		}
	})
}

func TestCallsDoNotShareTheirBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failing(errLost)
		c := retry.New(retry.Options{Rand: always(1)})(e)
		on := testtool.New("files", "tool", annotation.ReadOnly())
		for range 3 {
			e.at = nil
			_, _ = c.CallTool(t.Context(), middleware.Call{Tool: on})
			if got := e.waits(); got[0] != 200*time.Millisecond || got[1] != 400*time.Millisecond {
				t.Errorf("got waits %v", got)
			}
		}
	})
}

var errGone = errors.New("the caller has gone")

func TestContextThatIsDoneEndsTheCall(t *testing.T) {
	t.Parallel()
	t.Run("while waiting", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { cancel(errGone) })
			e := failing(&failure{notSent: true})
			_, err := retry.New(retry.Options{Rand: always(1)})(e).CallTool(ctx, middleware.Call{Tool: testtool.New("files", "tool", annotation.Destructive())})
			if len(e.at) != 1 || time.Since(e.start) != 100*time.Millisecond {
				t.Errorf("got %d attempts in %v, want 1 in 100ms", len(e.at), time.Since(e.start))
			}
			if !errors.Is(err, errGone) || !errors.Is(err, e.err) || !middleware.NotSent(err) {
				t.Errorf("got error %v, want the cause, the failure, and that it was not sent", err)
			}
		})
	})
	for _, tt := range []struct {
		name string
		err  error
		a    annotation.Annotations
	}{
		{"during the attempt, safe", errLost, annotation.ReadOnly()},
		{"during the attempt, not sent", &failure{notSent: true}, annotation.Destructive()},
		{"B129: during the attempt, dangerous", errLost, annotation.Destructive()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				made := 0
				next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					made++
					cancel(errGone)
					return nil, tt.err
				})
				began := time.Now()
				var log bytes.Buffer
				_, err := retry.New(retry.Options{Rand: always(0), Logger: slog.New(slog.NewTextHandler(&log, nil))})(next).
					CallTool(ctx, middleware.Call{Tool: testtool.New("files", "tool", tt.a)})
				if made != 1 || time.Since(began) != 0 || !errors.Is(err, tt.err) || log.Len() > 0 {
					t.Errorf("got %d attempts in %v and error %v; log: %s", made, time.Since(began), err, &log)
				}
			})
		})
	}
}

// slow is a log that takes its time between the decision to wait and the wait.
type slow struct {
	slog.Handler
	takes time.Duration
}

func (s slow) Handle(context.Context, slog.Record) error { time.Sleep(s.takes); return nil }

// No attempt starts at its deadline, though the timer of the wait and that of
// the context fire at one moment and either may be seen first.
func TestNoAttemptStartsAtItsDeadline(t *testing.T) {
	t.Parallel()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			e := failing(errLost)
			log := slog.New(slow{slog.NewTextHandler(new(bytes.Buffer), nil), 800 * time.Millisecond})
			_, err := retry.New(retry.Options{Rand: always(1), Logger: log})(e).CallTool(ctx, middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())})
			if len(e.at) != 1 {
				t.Fatalf("attempts at %v; the deadline was 1s", e.at)
			}
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errLost) {
				t.Fatalf("got error %v", err)
			}
		})
	}
}

func TestNestedRetriesDoNotMultiply(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   error
		limit time.Duration
		calls int
	}{
		{"B157: all attempts used", errLost, time.Hour, 3},
		{"not sent", &failure{notSent: true}, time.Hour, 3},
		{"no time for the next attempt", errLost, 100 * time.Millisecond, 1},
		{"a server that asks for too long a wait", &failure{refused: true, after: time.Minute}, time.Hour, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				e := failing(tt.err)
				inner := retry.New(retry.Options{Rand: always(1)})(e)
				outer := retry.New(retry.Options{Attempts: 10, Max: time.Hour, Rand: always(0)})(inner)
				_, err := outer.CallTool(ctx, middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())})
				if len(e.at) != tt.calls || !errors.Is(err, tt.err) {
					t.Errorf("got %d attempts and error %v, want %d", len(e.at), err, tt.calls)
				}
			})
		})
	}
}

func TestExhaustedErrorHasAttemptsAndCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failing(errLost)
		_, err := retry.New(retry.Options{})(e).CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())})
		exhausted, ok := errors.AsType[*retry.ExhaustedError](err)
		if !ok || exhausted.Attempts != 3 || exhausted.Tool.Name() != "tool" || !exhausted.Permanent() || !errors.Is(err, retry.ErrExhausted) {
			t.Fatalf("got error %#v", err)
		}
		if want := "retry: files/tool failed 3 times, the last time with: the connection was lost"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	})
}

func TestNewRefusesNegativeNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    retry.Options
		want string
	}{
		{"B149: -3 attempts", retry.Options{Attempts: -3}, "retry: Options.Attempts is negative"},
		{"B151: the first wait", retry.Options{First: -1}, "retry: Options.First is negative"},
		{"B151: the longest wait", retry.Options{Max: -1}, "retry: Options.Max is negative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("got panic %v, want %q", got, tt.want)
				}
			}()
			retry.New(tt.o)
		})
	}
}

func TestSuccessAllocatesNothing(t *testing.T) {
	next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return answer, nil })
	c := retry.New(retry.Options{})(next)
	call, ctx := middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())}, t.Context()
	if got := testing.AllocsPerRun(100, func() { _, _ = c.CallTool(ctx, call) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func TestLogNamesTheToolAndTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := failing(errLost)
		e.fails = 1
		c := retry.New(retry.Options{Rand: always(1), Logger: slog.New(slog.NewTextHandler(&log, nil))})(e)
		_, _ = c.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly()), Arguments: []byte(`{"password":"hunter2"}`)})
		got := log.String()
		if !strings.Contains(got, `msg="retry: again" tool=files/tool class=safe attempt=2 wait=200ms`) || strings.Contains(got, "hunter2") {
			t.Errorf("got %q", got)
		}
	})
}
