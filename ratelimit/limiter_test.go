package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
)

func TestWaitThatDoesNotFitIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("B165: wait 1 s, deadline in 500 ms", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 60})(e)
			call := middleware.Call{Tool: rated("a")}
			together(c, call, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err := c.CallTool(ctx, call)
			if took := time.Since(e.start); took != 0 {
				t.Errorf("it took %v, want no time", took)
			}
			limited(t, err, time.Second)
			together(c, call, 1) // no token is missing
			if got := e.times(); got != "[0s 1s]" {
				t.Errorf("handed over at %v", got)
			}
		})
	})
	t.Run("a wait that ends at the deadline", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := ratelimit.New(ratelimit.Options{PerMinute: 60})(newExecutor())
			together(c, middleware.Call{Tool: rated("a")}, 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.CallTool(ctx, middleware.Call{Tool: rated("a")})
			limited(t, err, time.Second)
		})
	})
	t.Run("the place in the queue counts", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 6, MaxWait: 20 * time.Second})(e)
			errs := together(c, middleware.Call{Tool: rated("a")}, 4)
			limited(t, errs[3], 30*time.Second)
			if got := e.times(); got != "[0s 10s 20s]" { // MaxWait itself is not too long
				t.Errorf("handed over at %v", got)
			}
		})
	})
	t.Run("and those in the tool's queue at the server", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 6, MaxWait: 20 * time.Second})(e)
			errs := together(c, middleware.Call{Tool: rated("a", 600)}, 14) // 10 tokens of the tool, 1 of the server
			limited(t, errs[3], 30*time.Second)
			if got := e.times(); got != "[0s 10s 20s]" {
				t.Errorf("handed over at %v", got)
			}
		})
	})
	t.Run("the longest wait is a minute by default", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			errs := together(ratelimit.New(ratelimit.Options{})(newExecutor()), middleware.Call{Tool: rated("a", 1)}, 3)
			if errs[1] != nil {
				t.Error(errs[1])
			}
			limited(t, errs[2], 2*time.Minute)
		})
	})
	t.Run("too many wait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 60, MaxWaiters: 2})(e)
			errs := together(c, middleware.Call{Tool: rated("a")}, 4)
			limited(t, errs[3], 3*time.Second)
			if got := e.times(); got != "[0s 1s 2s]" {
				t.Errorf("handed over at %v", got)
			}
		})
	})
	t.Run("a thousand may wait by default", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			errs := together(ratelimit.New(ratelimit.Options{PerMinute: 6000, Burst: 1})(newExecutor()), middleware.Call{Tool: rated("a")}, 1002)
			if errs[1000] != nil {
				t.Error(errs[1000])
			}
			limited(t, errs[1001], 10010*time.Millisecond)
		})
	})
	t.Run("others that overtake at the server make it too long", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 6, MaxWait: 30 * time.Second})(e)
			var err error
			var wg sync.WaitGroup
			hinted := rated("a", 6)
			together(c, middleware.Call{Tool: hinted}, 1)
			wg.Go(func() { _, err = c.CallTool(t.Context(), middleware.Call{Tool: hinted}) })
			time.Sleep(time.Second)
			synctest.Wait()
			end := begin(c, middleware.Call{Tool: rated("b")}, 3) // at 10, 20, 30 s
			wg.Wait()
			limited(t, err, 30*time.Second) // at 10 s three of b are ahead, and 30 s of patience began at 0
			end()
			if got := e.times(); got != "[0s 10s 20s 30s]" {
				t.Errorf("handed over at %v", got)
			}
		})
	})
}

func TestHintThatAllowsNoCallsMeansNever(t *testing.T) {
	t.Parallel()
	for _, hint := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		t.Run(fmt.Sprint(hint), func(t *testing.T) {
			t.Parallel()
			e := newExecutor()
			_, err := ratelimit.New(ratelimit.Options{})(e).CallTool(t.Context(), middleware.Call{Tool: rated("a", hint)})
			limited(t, err, 0)
			if len(e.at) != 0 {
				t.Error("the call went through")
			}
		})
	}
}

func TestContextWins(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user left")
	gone := func(t *testing.T, err, want error) {
		t.Helper()
		if !errors.Is(err, want) || errors.Is(err, ratelimit.ErrLimited) || !middleware.NotSent(err) {
			t.Errorf("got %v (not sent: %v), want %v, not sent", err, middleware.NotSent(err), want)
		}
	}
	t.Run("B311: done at entry", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 60})(e)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cause)
			_, err := c.CallTool(ctx, middleware.Call{Tool: rated("a")})
			gone(t, err, cause)
			_, err = ratelimit.New(ratelimit.Options{})(e).CallTool(ctx, middleware.Call{Tool: rated("a")})
			gone(t, err, cause)
			together(c, middleware.Call{Tool: rated("a")}, 1)
			if got := e.times(); got != "[0s]" { // neither handed over nor charged
				t.Errorf("handed over at %v", got)
			}
		})
	})
	t.Run("cancelled while it waits", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 6})(e)
			together(c, middleware.Call{Tool: rated("a")}, 1)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(3*time.Second, func() { cancel(cause) })
			_, err := c.CallTool(ctx, middleware.Call{Tool: rated("a")})
			gone(t, err, cause)
			if took := time.Since(e.start); took != 3*time.Second {
				t.Errorf("it took %v, want 3s", took)
			}
		})
	})
	t.Run("cancelled at the instant when its token comes", func(t *testing.T) {
		t.Parallel()
		for range 200 { // select chooses at random
			synctest.Test(t, func(t *testing.T) {
				e := newExecutor()
				c := ratelimit.New(ratelimit.Options{PerMinute: 60})(e)
				together(c, middleware.Call{Tool: rated("a")}, 1)
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					time.Sleep(time.Second)
					cancel(cause)
				}()
				synctest.Wait()
				_, err := c.CallTool(ctx, middleware.Call{Tool: rated("a")})
				if err != nil {
					gone(t, err, cause)
				}
				if handed := len(e.at) == 2; handed != (err == nil) {
					t.Errorf("handed over: %v, error: %v", handed, err)
				}
			})
		}
	})
	t.Run("no attempt starts at its deadline, whichever goroutine runs first", func(t *testing.T) {
		t.Parallel()
		for range 200 {
			synctest.Test(t, func(t *testing.T) {
				e := newExecutor()
				c := ratelimit.New(ratelimit.Options{})(e)
				together(c, middleware.Call{Tool: rated("a", 60)}, 1)
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer cancel()
				var err error
				var wg sync.WaitGroup
				wg.Go(func() { _, err = c.CallTool(ctx, middleware.Call{Tool: rated("a", 60)}) })
				time.Sleep(500 * time.Millisecond)
				end := begin(c, middleware.Call{Tool: rated("a", 30)}, 1) // now its token comes at 1.5 s
				wg.Wait()
				limited(t, err, time.Second) // at once
				end()
				if got := e.times(); got != "[0s 1.5s]" {
					t.Fatalf("handed over at %v", got)
				}
			})
		}
	})
	t.Run("a deadline that has come counts before its timer has run", func(t *testing.T) {
		t.Parallel()
		e := newExecutor()
		c := ratelimit.New(ratelimit.Options{PerMinute: 60})(e)
		_, err := c.CallTool(past{t.Context()}, middleware.Call{Tool: rated("a")})
		gone(t, err, context.DeadlineExceeded)
		if len(e.at) != 0 {
			t.Error("the call went through")
		}
	})
}

// past is a context with a deadline that has come and a timer that has not run.
type past struct{ context.Context }

func (past) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestCallsGoInTheOrderInWhichTheyCame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		c := ratelimit.New(ratelimit.Options{PerMinute: 600, Burst: 1})(e)
		together(c, middleware.Call{Tool: rated("a")}, 50)
		for i, id := range e.ids {
			if id != fmt.Sprint(i) {
				t.Fatalf("order: %v", e.ids)
			}
		}
	})
}

func TestNoCallOvertakesADelayedOne(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]ratelimit.Options{"tool": {}, "server": {PerMinute: 180}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newExecutor()
				opts.Logger = slog.New(&slow{Handler: slog.DiscardHandler})
				c := ratelimit.New(opts)(e)
				call := middleware.Call{Tool: rated("a")}
				if opts.PerMinute == 0 {
					call.Tool = rated("a", 180)
				}
				together(c, call, 3)
				first, second := call, call
				first.ID, second.ID = "first", "second"
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = c.CallTool(t.Context(), first) }) // its logger takes 5 s
				time.Sleep(4 * time.Second)                             // by now there are tokens for both
				_, _ = c.CallTool(t.Context(), second)
				wg.Wait()
				if got := fmt.Sprint(e.ids); got != "[0 1 2 first second]" {
					t.Errorf("order: %s", got)
				}
			})
		})
	}
}

// slow is a handler that takes five seconds for the first record.
type slow struct {
	slog.Handler
	used atomic.Bool
}

func (*slow) Enabled(context.Context, slog.Level) bool { return true }

func (s *slow) Handle(context.Context, slog.Record) error {
	if s.used.CompareAndSwap(false, true) {
		time.Sleep(5 * time.Second)
	}
	return nil
}

func TestSlowToolDoesNotBlockItsServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		c := ratelimit.New(ratelimit.Options{PerMinute: 60})(e)
		slow := begin(c, middleware.Call{Tool: rated("slow", 2)}, 3) // at 0, 30 and 60 s
		together(c, middleware.Call{Tool: rated("a")}, 3)
		slow()
		if got := e.times(); got != "[0s 1s 2s 3s 30s 1m0s]" {
			t.Errorf("handed over at %v", got)
		}
	})
}

func TestOneQuotaForAllScopes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		c := ratelimit.New(ratelimit.Options{PerMinute: 60, OneQuota: true})(e)
		for _, scope := range []string{"ann", "bob", "cid"} {
			together(c, middleware.Call{Scope: scope, Tool: rated("a")}, 1)
		}
		if got := e.times(); got != "[0s 1s 2s]" {
			t.Errorf("handed over at %v", got)
		}
	})
}

func TestScopesServersAndToolsHaveTheirOwnBuckets(t *testing.T) {
	t.Parallel()
	t.Run("B169: one tenant's 10,000 calls, another's one", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 60})(e)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 10_000 {
				wg.Go(func() { _, _ = c.CallTool(ctx, middleware.Call{Scope: "noisy", Tool: rated("a")}) })
			}
			synctest.Wait()
			if _, err := c.CallTool(t.Context(), middleware.Call{Scope: "quiet", Tool: rated("a")}); err != nil {
				t.Error(err)
			}
			if took := time.Since(e.start); took != 0 {
				t.Errorf("it took %v, want no time", took)
			}
			cancel()
			wg.Wait()
		})
	})
	t.Run("servers and tools", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newExecutor()
			c := ratelimit.New(ratelimit.Options{PerMinute: 60})(e)
			other := rated("a")
			other.Server = "t"
			for _, tool := range []*middleware.Tool{rated("a", 6), other} {
				together(c, middleware.Call{Tool: tool}, 1)
			}
			if got := e.times(); got != "[0s 0s]" {
				t.Errorf("two servers: handed over at %v", got)
			}
			together(c, middleware.Call{Tool: rated("b", 6)}, 1)
			if got := e.times(); got != "[0s 0s 1s]" {
				t.Errorf("another tool shares the server's limit and not the tool's: handed over at %v", got)
			}
		})
	})
}

func TestCorrectedHintTakesEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		c := ratelimit.New(ratelimit.Options{})(e)
		together(c, middleware.Call{Tool: rated("a", 6)}, 1)
		end := begin(c, middleware.Call{Tool: rated("a", 6)}, 1)
		together(c, middleware.Call{Tool: rated("a", 60)}, 1) // both go sooner
		end()
		if got := e.times(); got != "[0s 1s 2s]" {
			t.Errorf("handed over at %v", got)
		}
	})
}

func TestPanickingLoggerLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		h := &fuse{Handler: slog.DiscardHandler, blown: make(chan struct{})}
		c := ratelimit.New(ratelimit.Options{PerMinute: 60, Logger: slog.New(h)})(e)
		together(c, middleware.Call{Tool: rated("a")}, 1)
		func() {
			defer func() { _ = recover() }()
			_, _ = c.CallTool(t.Context(), middleware.Call{Tool: rated("a")})
		}()
		together(c, middleware.Call{Tool: rated("a")}, 1)
		if got := e.times(); got != "[0s 1s]" {
			t.Errorf("handed over at %v", got)
		}
	})
}

type fuse struct {
	slog.Handler
	blown chan struct{}
}

func (*fuse) Enabled(context.Context, slog.Level) bool { return true }

func (f *fuse) Handle(context.Context, slog.Record) error {
	select {
	case <-f.blown:
		return nil
	default:
		close(f.blown)
		panic("handler")
	}
}

// A call that would wait for ever is not let through if its bucket does not fit.
func TestLongestWaitDoesNotOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := ratelimit.NewMemory()
		take := func(scope string) (wait time.Duration) {
			wait, err := m.Take(t.Context(), ratelimit.Waiter{
				ID: scope, Scope: scope, Most: 10, Longest: math.MaxInt64,
				Buckets: []ratelimit.Bucket{{Server: "s", PerSecond: 1e-3, Burst: 1}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return wait
		}
		for i := range 100_000 {
			if wait := take(fmt.Sprint(i)); wait != 0 {
				t.Fatal(wait)
			}
		}
		if wait := take("one more"); wait <= 0 {
			t.Errorf("got a wait of %v, which lets it through", wait)
		}
	})
}
