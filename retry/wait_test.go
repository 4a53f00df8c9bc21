package retry_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
		{"B153: the factor cannot be set wrongly, it is 2", retry.Options{Attempts: 4, First: time.Second, Rand: always(1)}, estimated(0), []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"half of the bound", retry.Options{Attempts: 4, Rand: always(0.5)}, estimated(0), []time.Duration{100 * ms, 200 * ms, 400 * ms}},
		{"nothing of the bound", retry.Options{Attempts: 4, Rand: always(0)}, estimated(0), []time.Duration{0, 0, 0}},
		{"the first as the host sets it", retry.Options{First: time.Second, Rand: always(1)}, estimated(3 * time.Second), []time.Duration{time.Second, 2 * time.Second}},
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
				_, _ = retry.New(tt.o)(e).CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", tt.a)})
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
					CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())})
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
			_, _ = retry.New(retry.Options{Attempts: 2})(e).CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())})
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
		{"longer than our own wait", 3 * time.Second, 0, annotation.ReadOnly(), 2, 4500 * time.Millisecond},
		{"shorter than our own wait", time.Millisecond, 0, annotation.ReadOnly(), 2, 200 * time.Millisecond},
		{"as long as the cap", 10 * time.Second, 0, annotation.ReadOnly(), 2, 10 * time.Second},
		{"longer than the cap", 10*time.Second + 1, 0, annotation.ReadOnly(), 1, 0},
		{"B133: a day", 86_400 * time.Second, 0, annotation.ReadOnly(), 1, 0},
		{"B133: a day, dangerous", 86_400 * time.Second, 0, annotation.Destructive(), 1, 0},
		{"the longest there is", math.MaxInt64, 0, annotation.ReadOnly(), 1, 0},
		{"negative", -time.Hour, 0, annotation.ReadOnly(), 2, 200 * time.Millisecond},
		{"beyond the deadline", 5 * time.Second, 5 * time.Second, annotation.ReadOnly(), 1, 0},
		{"within the deadline", 5 * time.Second, 5*time.Second + 1, annotation.ReadOnly(), 2, 5 * time.Second},
		{"dangerous", 3 * time.Second, 0, annotation.Destructive(), 2, 4500 * time.Millisecond},
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
				_, err := retry.New(retry.Options{Rand: always(1)})(e).CallTool(ctx, middleware.Call{Tool: testtool.New("files", "tool", tt.a)})
				if took := time.Since(e.start); len(e.at) != tt.calls || took != tt.took {
					t.Errorf("got %d attempts in %v, want %d in %v", len(e.at), took, tt.calls, tt.took)
				}
				if after, ok := middleware.RetryAfter(err); tt.calls == 1 && (!ok || after != tt.after) {
					t.Errorf("the error %v asks to wait for %v, want %v", err, after, tt.after)
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
				_, err := retry.New(retry.Options{Rand: always(1)})(e).CallTool(ctx, middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())})
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

// A Rand that breaks its promise does no harm.
func TestBrokenRandIsHarmless(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{-1, math.NaN(), math.Inf(-1)} {
		synctest.Test(t, func(t *testing.T) {
			e := failing(errLost)
			_, _ = retry.New(retry.Options{Rand: always(f)})(e).CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "tool", annotation.ReadOnly())})
			if len(e.at) != 3 {
				t.Errorf("%v: got %d attempts", f, len(e.at))
			}
		})
	}
}
