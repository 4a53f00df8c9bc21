package retry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func tool(tb testing.TB, a annotation.Annotations) *middleware.Tool {
	tb.Helper()
	t, err := middleware.NewTool("files", &mcp.Tool{Name: "tool"}, a)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// A failure is an error that tells what it is told to.
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

// waits returns the time between the attempts.
func (e *executor) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(e.at); i++ {
		waits = append(waits, e.at[i]-e.at[i-1])
	}
	return waits
}

// always is a source whose every number is f, so that a wait is f of its bound.
func always(f float64) func() float64 { return func() float64 { return f } }

func TestContract(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, retry.New(retry.Options{}), tool(t, annotation.Update()))
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
		{"moderate, idempotence inferred, and the host believes it", attributed(annotation.Update(), annotation.Inferred), true, []string{"plain", "B125: cut off", "unknown outcome", "says no to everything"}, true},
		{"moderate, and the host believes inference", attributed(annotation.Write(), annotation.Inferred), true, nil, true},
		{"dangerous", annotation.Destructive(), false, nil, true},
		{"dangerous and idempotent", annotation.Annotations{Destructive: annotation.Yes, Idempotent: annotation.Yes}, false, nil, true},
		{"dangerous, idempotence inferred, and the host believes it", attributed(annotation.Annotations{Destructive: annotation.Yes, Idempotent: annotation.Yes}, annotation.Inferred), true, nil, true},
		{"read-only that needs confirmation", annotation.Annotations{ReadOnly: annotation.Yes, RequiresConfirmation: annotation.Yes}, false, nil, true},
		{"unknown", annotation.Annotations{}, false, nil, true},
		{"unknown and idempotent", annotation.Annotations{Idempotent: annotation.Yes}, true, nil, true},
	} {
		for _, failed := range errs {
			t.Run(tt.class+", "+failed.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					on := tool(t, tt.a)
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
		_, err := retry.New(retry.Options{Attempts: 10})(next).CallTool(t.Context(), middleware.Call{Tool: tool(t, annotation.Destructive())})
		unknown, ok := errors.AsType[*retry.OutcomeUnknownError](err)
		if made != 2 || !ok {
			t.Fatalf("got %d attempts and error %v, want 2 and an unknown outcome", made, err)
		}
		if !strings.Contains(unknown.Check, "Do not call it again") {
			t.Errorf("the model is told %q", unknown.Check)
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
		_, err := retry.New(retry.Options{Attempts: 2})(next).CallTool(t.Context(), middleware.Call{Tool: tool(t, annotation.Update())})
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
		got, err := retry.New(retry.Options{})(next).CallTool(t.Context(), middleware.Call{Tool: tool(t, annotation.ReadOnly())})
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

func TestWaitsGrowWithFullJitter(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	estimated := func(d time.Duration) annotation.Annotations {
		a := annotation.ReadOnly()
		a.EstimatedDuration = d
		return a
	}
	for _, tt := range []struct {
		name string
		o    retry.Options
		a    annotation.Annotations
		want []time.Duration
	}{
		{"B151: 0 means 200 ms, doubling", retry.Options{Attempts: 5, Rand: always(1)}, estimated(0), []time.Duration{200 * ms, 400 * ms, 800 * ms, 1600 * ms}},
		{"B149: 0 attempts means 3", retry.Options{Rand: always(1)}, estimated(0), []time.Duration{200 * ms, 400 * ms}},
		{"1 attempt", retry.Options{Attempts: 1, Rand: always(1)}, estimated(0), nil},
		{"B153: there is no factor to set wrongly, it is 2", retry.Options{Attempts: 4, First: time.Second, Rand: always(1)}, estimated(0), []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"half of the bound", retry.Options{Attempts: 4, Rand: always(0.5)}, estimated(0), []time.Duration{100 * ms, 200 * ms, 400 * ms}},
		{"nothing of the bound", retry.Options{Attempts: 4, Rand: always(0)}, estimated(0), []time.Duration{0, 0, 0}},
		{"the first as the host says", retry.Options{First: time.Second, Rand: always(1)}, estimated(3 * time.Second), []time.Duration{time.Second, 2 * time.Second}},
		{"the first from the estimated duration", retry.Options{Rand: always(1)}, estimated(700 * ms), []time.Duration{700 * ms, 1400 * ms}},
		{"a short duration", retry.Options{Rand: always(1)}, estimated(time.Nanosecond), []time.Duration{50 * ms, 100 * ms}},
		{"a long duration", retry.Options{Rand: always(1)}, estimated(time.Hour), []time.Duration{5 * time.Second, 10 * time.Second}},
		{"a negative duration", retry.Options{Rand: always(1)}, estimated(-time.Hour), []time.Duration{200 * ms, 400 * ms}},
		{"B151: 0 means at most 10 s", retry.Options{First: 6 * time.Second, Attempts: 4, Rand: always(1)}, estimated(0), []time.Duration{6 * time.Second, 10 * time.Second, 10 * time.Second}},
		{"the cap is less than the first", retry.Options{First: time.Minute, Max: time.Second, Rand: always(1)}, estimated(0), []time.Duration{time.Second, time.Second}},
		{"the cap is less than the estimated duration", retry.Options{Max: ms, Rand: always(1)}, estimated(time.Second), []time.Duration{ms, ms}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := failing(errLost)
				_, _ = retry.New(tt.o)(e).CallTool(t.Context(), middleware.Call{Tool: tool(t, tt.a)})
				if got := e.waits(); !slices.Equal(got, tt.want) {
					t.Errorf("got waits %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestWaitsSaturate(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{10 * time.Second, 200 * 365 * 24 * time.Hour} {
		t.Run("B155: 100 attempts, at most "+limit.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var waits []time.Duration
				last := time.Now()
				next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					waits, last = append(waits, time.Since(last)), time.Now()
					return nil, errLost
				})
				// Small parts of the bounds, so that the clock of the bubble does not run out.
				_, _ = retry.New(retry.Options{Attempts: 100, Max: limit, Rand: always(1e-3)})(next).
					CallTool(t.Context(), middleware.Call{Tool: tool(t, annotation.ReadOnly())})
				if len(waits) != 100 {
					t.Fatalf("got %d attempts, want 100", len(waits))
				}
				most := time.Duration(1e-3 * float64(limit))
				for i := 2; i < len(waits); i++ {
					if waits[i] < waits[i-1] || waits[i] > most {
						t.Fatalf("wait %d is %v after %v, want none to shrink and none above %v", i, waits[i], waits[i-1], most)
					}
				}
				if waits[99] != most {
					t.Errorf("the last wait is %v, want %v", waits[99], most)
				}
			})
		})
	}
}

// The default source fills the whole range below each bound.
func TestJitterIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var low, high int
		for range 200 {
			e := failing(errLost)
			_, _ = retry.New(retry.Options{Attempts: 2})(e).CallTool(t.Context(), middleware.Call{Tool: tool(t, annotation.ReadOnly())})
			switch wait := e.waits()[0]; {
			case wait < 0 || wait >= 200*time.Millisecond:
				t.Fatalf("got a wait of %v, want one in [0, 200ms)", wait)
			case wait < 50*time.Millisecond:
				low++
			case wait >= 150*time.Millisecond:
				high++
			}
		}
		if low < 20 || high < 20 {
			t.Errorf("of 200 waits %d are in the lowest and %d in the highest quarter", low, high)
		}
	})
}

func TestCallsDoNotShareTheirBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failing(errLost)
		c := retry.New(retry.Options{Rand: always(1)})(e)
		on := tool(t, annotation.ReadOnly())
		for range 3 {
			e.at = nil
			_, _ = c.CallTool(t.Context(), middleware.Call{Tool: on})
			if got := e.waits(); got[0] != 200*time.Millisecond || got[1] != 400*time.Millisecond {
				t.Errorf("got waits %v", got)
			}
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after time.Duration
		limit time.Duration // the deadline, 0 for none
		a     annotation.Annotations
		calls int
		took  time.Duration
	}{
		{"longer than our own wait", 3 * time.Second, 0, annotation.ReadOnly(), 2, 3 * time.Second},
		{"shorter than our own wait", time.Millisecond, 0, annotation.ReadOnly(), 2, 200 * time.Millisecond},
		{"as long as the cap", 10 * time.Second, 0, annotation.ReadOnly(), 2, 10 * time.Second},
		{"longer than the cap", 10*time.Second + 1, 0, annotation.ReadOnly(), 1, 0},
		{"B133: a day", 86_400 * time.Second, 0, annotation.ReadOnly(), 1, 0},
		{"B133: a day, dangerous", 86_400 * time.Second, 0, annotation.Destructive(), 1, 0},
		{"the longest there is", math.MaxInt64, 0, annotation.ReadOnly(), 1, 0},
		{"negative", -time.Hour, 0, annotation.ReadOnly(), 2, 200 * time.Millisecond},
		{"beyond the deadline", 5 * time.Second, 5 * time.Second, annotation.ReadOnly(), 1, 0},
		{"within the deadline", 5 * time.Second, 5*time.Second + 1, annotation.ReadOnly(), 2, 5 * time.Second},
		{"dangerous", 3 * time.Second, 0, annotation.Destructive(), 2, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.limit)
					defer cancel()
				}
				e := failing(&failure{refused: true, after: tt.after})
				e.fails = 1
				_, err := retry.New(retry.Options{Rand: always(1)})(e).CallTool(ctx, middleware.Call{Tool: tool(t, tt.a)})
				if took := time.Since(e.start); len(e.at) != tt.calls || took != tt.took {
					t.Errorf("got %d attempts in %v, want %d in %v", len(e.at), took, tt.calls, tt.took)
				}
				if after, ok := middleware.RetryAfter(err); tt.calls == 1 && (!ok || after != tt.after) {
					t.Errorf("the error %v says to wait for %v, want %v", err, after, tt.after)
				}
			})
		})
	}
}

func TestWaitThatDoesNotFitTheDeadlineIsNotBegun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		limit time.Duration
		calls int
	}{{"less time than the wait", 199 * time.Millisecond, 1}, {"as much", 200 * time.Millisecond, 1}, {"more", 200*time.Millisecond + 1, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				e := failing(errLost)
				_, err := retry.New(retry.Options{Rand: always(1)})(e).CallTool(ctx, middleware.Call{Tool: tool(t, annotation.ReadOnly())})
				if want := time.Duration(tt.calls-1) * 200 * time.Millisecond; len(e.at) != tt.calls || time.Since(e.start) != want {
					t.Errorf("got %d attempts in %v, want %d in %v", len(e.at), time.Since(e.start), tt.calls, want)
				}
				if exhausted, ok := errors.AsType[*retry.ExhaustedError](err); !ok || exhausted.Attempts != tt.calls || !errors.Is(err, errLost) {
					t.Errorf("got error %v", err)
				}
			})
		})
	}
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
			_, err := retry.New(retry.Options{Rand: always(1)})(e).CallTool(ctx, middleware.Call{Tool: tool(t, annotation.Destructive())})
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
					CallTool(ctx, middleware.Call{Tool: tool(t, tt.a)})
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
			_, err := retry.New(retry.Options{Rand: always(1), Logger: log})(e).CallTool(ctx, middleware.Call{Tool: tool(t, annotation.ReadOnly())})
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
				_, err := outer.CallTool(ctx, middleware.Call{Tool: tool(t, annotation.ReadOnly())})
				if len(e.at) != tt.calls || !errors.Is(err, tt.err) {
					t.Errorf("got %d attempts and error %v, want %d", len(e.at), err, tt.calls)
				}
			})
		})
	}
}

func TestExhaustedErrorSaysHowOftenAndWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failing(errLost)
		_, err := retry.New(retry.Options{})(e).CallTool(t.Context(), middleware.Call{Tool: tool(t, annotation.ReadOnly())})
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
	call, ctx := middleware.Call{Tool: tool(t, annotation.ReadOnly())}, t.Context()
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
		_, _ = c.CallTool(t.Context(), middleware.Call{Tool: tool(t, annotation.ReadOnly()), Arguments: []byte(`{"password":"hunter2"}`)})
		got := log.String()
		if !strings.Contains(got, `msg="retry: again" tool=files/tool class=safe attempt=2 wait=200ms`) || strings.Contains(got, "hunter2") {
			t.Errorf("got %q", got)
		}
	})
}

// A Rand that breaks its promise harms nobody.
func TestBrokenRandIsHarmless(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{-1, math.NaN(), math.Inf(-1)} {
		synctest.Test(t, func(t *testing.T) {
			e := failing(errLost)
			_, _ = retry.New(retry.Options{Rand: always(f)})(e).CallTool(t.Context(), middleware.Call{Tool: tool(t, annotation.ReadOnly())})
			if len(e.at) != 3 {
				t.Errorf("%v: got %d attempts", f, len(e.at))
			}
		})
	}
}
