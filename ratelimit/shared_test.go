package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errOut = errors.New("out of order")

// A faulty limiter gives no answer while it is out.
type faulty struct {
	ratelimit.Limiter

	out atomic.Bool
}

func (f *faulty) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	if f.out.Load() {
		return 0, errOut
	}
	return f.Limiter.Take(ctx, w)
}

// replicas are n middlewares with one quota in front of one server that counts.
func replicas(t *testing.T, n int, o ratelimit.Options) (callers []middleware.ToolCaller, tool *middleware.Tool, calls *atomic.Int64) {
	t.Helper()
	tool, err := middleware.NewTool("crm", &mcp.Tool{Name: "get"}, annotation.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	calls = new(atomic.Int64)
	for range n {
		callers = append(callers, ratelimit.New(o)(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			calls.Add(1)
			return &mcp.CallToolResult{}, nil
		})))
	}
	return callers, tool, calls
}

func TestReplicasKeepOneQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		callers, tool, calls := replicas(t, 4, ratelimit.Options{PerMinute: 600, Burst: 5, Shared: ratelimit.NewMemory(), Replicas: 4})
		var all sync.WaitGroup
		for i := range 105 {
			all.Go(func() {
				if _, err := callers[i%4].CallTool(t.Context(), middleware.Call{Tool: tool}); err != nil {
					t.Error(err)
				}
			})
		}
		for second := range 10 {
			time.Sleep(time.Second)
			synctest.Wait()
			if got, want := calls.Load(), int64(5+10*(second+1)); got > want || got < want-2 {
				t.Errorf("after %d s: %d calls, want %d", second+1, got, want)
			}
		}
		all.Wait()
		if calls.Load() != 105 {
			t.Errorf("%d calls came through", calls.Load())
		}
	})
}

func TestSharedWaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		callers, tool, calls := replicas(t, 1, ratelimit.Options{PerMinute: 6, Burst: 1, MaxWait: 15 * time.Second, Shared: ratelimit.NewMemory(), Replicas: 1})
		call := middleware.Call{Tool: tool}
		if _, err := callers[0].CallTool(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var limited *ratelimit.LimitedError
		if _, err := callers[0].CallTool(ctx, call); !errors.As(err, &limited) || limited.Wait != 10*time.Second {
			t.Errorf("a deadline before its turn: got %v", err)
		}
		waits, give := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); give() }()
		if _, err := callers[0].CallTool(waits, call); !errors.Is(err, context.Canceled) || !middleware.NotSent(err) {
			t.Errorf("given up: got %v", err)
		}
		began := time.Now()
		_, err := callers[0].CallTool(t.Context(), call)
		if took := time.Since(began).Round(time.Millisecond); err != nil || took != 9*time.Second {
			t.Errorf("the next: after %v, %v", took, err)
		}
		if calls.Load() != 2 {
			t.Errorf("%d calls, want 2", calls.Load())
		}
	})
}

func TestOutageIsAsTheHostChose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		replicas int
		lo, hi   int64 // calls of both replicas in 10 s, of 10 a second
		refused  bool
	}{
		{"a share each", 2, 90, 102, false},
		{"the whole", 1, 190, 202, false},
		{"none", 0, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := &faulty{Limiter: ratelimit.NewMemory()}
				o := ratelimit.Options{PerMinute: 600, Burst: 4, Shared: shared, Replicas: c.replicas}
				callers, tool, calls := replicas(t, 2, o)
				shared.out.Store(true)
				if c.refused {
					var limited *ratelimit.LimitedError
					if _, err := callers[0].CallTool(t.Context(), middleware.Call{Tool: tool}); !errors.As(err, &limited) || limited.Permanent() {
						t.Errorf("got %v", err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var all sync.WaitGroup
				for i := range 500 {
					all.Go(func() { _, _ = callers[i%2].CallTool(ctx, middleware.Call{Tool: tool}) })
				}
				all.Wait()
				if got := calls.Load(); got < c.lo || got > c.hi {
					t.Errorf("%d calls in 10 s, want %d to %d", got, c.lo, c.hi)
				}
				shared.out.Store(false)
				if _, err := callers[0].CallTool(t.Context(), middleware.Call{Tool: tool}); err != nil {
					t.Errorf("when it is back: %v", err)
				}
			})
		})
	}
}

func TestToolsOwnLimitIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		callers, tool, _ := replicas(t, 2, ratelimit.Options{Shared: ratelimit.NewMemory(), Replicas: 2})
		hinted := *tool
		hinted.Annotations.RateLimitHint = new(60.0)
		began := time.Now()
		for i := range 5 {
			if _, err := callers[i%2].CallTool(t.Context(), middleware.Call{Tool: &hinted}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 4*time.Second || took > 4*time.Second+10*time.Millisecond {
			t.Errorf("5 calls at one a second took %v, want 4 s", took)
		}
		hinted.Annotations.RateLimitHint = new(0.0)
		if _, err := callers[0].CallTool(t.Context(), middleware.Call{Tool: &hinted}); !middleware.Permanent(err) {
			t.Errorf("no calls at all: got %v", err)
		}
	})
}

func TestSharedLimiterIsAGoodMiddleware(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, ratelimit.New(ratelimit.Options{PerMinute: 1e6, Shared: ratelimit.NewMemory(), Replicas: 1}))
}

func TestNewRefusesOptionsThatConflictWithShared(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]ratelimit.Options{
		"negative":            {Shared: ratelimit.NewMemory(), Replicas: -1},
		"replicas of nothing": {Replicas: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			ratelimit.New(o)
		})
	}
}

// An engine is a limiter that replicas cannot always reach. When one reaches it again it is closed
// for a short time, until the others have reached it too, and then it is empty.
type engine struct {
	mu     sync.Mutex
	memory ratelimit.Limiter
	shut   time.Time
	away   func(replica int, now time.Time) bool
	was    map[int]bool // away, when last asked for
}

// seen is the engine as a replica reaches it.
type seen struct {
	*engine

	replica int
}

const shutFor = 200 * time.Millisecond

func (s *seen) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, away := time.Now(), s.away(s.replica, time.Now())
	if s.was[s.replica] && !away {
		s.shut = now.Add(shutFor)
		s.memory = ratelimit.NewMemory() // as after a restart
	}
	if s.was[s.replica] = away; away || now.Before(s.shut) {
		s.drain(ctx, w)
		return 0, errOut
	}
	return s.memory.Take(ctx, w)
}

// drain leaves no token in what is shut.
func (s *seen) drain(ctx context.Context, w ratelimit.Waiter) {
	for w.Longest = 0; time.Now().Before(s.shut); {
		if wait, _ := s.memory.Take(ctx, w); wait > 0 {
			return
		}
	}
}

func (s *seen) Leave(ctx context.Context, w ratelimit.Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.Leave(ctx, w)
}

// Around outages of all replicas, and of a memory that is lost in each, the server
// sees its quota and no burst more; what a replica is alone with for a while costs
// its share of that while.
func TestOutagesGiveNoBurst(t *testing.T) {
	t.Parallel()
	const n, perSecond, burst = 4, 100.0, 40
	every := func(of, out time.Duration) func(int, time.Time) bool {
		return func(_ int, now time.Time) bool { return time.Duration(now.UnixNano())%of >= of-out }
	}
	for _, c := range []struct {
		name string
		away func(replica int, now time.Time) bool
		most float64 // calls above the rate, at any time
	}{
		{"none", func(int, time.Time) bool { return false }, burst},
		{"one of three seconds", every(20*time.Second, 3*time.Second), burst},
		{"again and again", every(2*time.Second, time.Second), burst},
		{"flapping", every(500*time.Millisecond, 20*time.Millisecond), burst},
		{"all the time", func(int, time.Time) bool { return true }, burst},
		{"replicas come back one after the other", func(replica int, now time.Time) bool {
			return every(5*time.Second, 2*time.Second)(0, now.Add(-time.Duration(replica)*shutFor/n))
		}, burst},
		{"one for itself, for 2 seconds of 10", func(replica int, now time.Time) bool {
			return replica == 0 && every(10*time.Second, 2*time.Second)(0, now)
		}, burst + perSecond/n*2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &engine{memory: ratelimit.NewMemory(), away: c.away, was: make(map[int]bool)}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var ledger sync.Mutex
				var calls int
				var level, worst float64
				var last time.Time
				server := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					ledger.Lock()
					defer ledger.Unlock()
					calls++
					level = max(0, level-time.Since(last).Seconds()*perSecond) + 1
					worst, last = max(worst, level), time.Now()
					return &mcp.CallToolResult{}, nil
				})
				_, tool, _ := replicas(t, 0, ratelimit.Options{})
				var all sync.WaitGroup
				for i := range n {
					caller := ratelimit.New(ratelimit.Options{PerMinute: 60 * perSecond, Burst: burst, Shared: &seen{e, i}, Replicas: n})(server)
					for worker := range 15 {
						all.Go(func() {
							for ctx.Err() == nil {
								if _, err := caller.CallTool(ctx, middleware.Call{Tool: tool}); err != nil {
									time.Sleep(time.Second)
								}
								if time.Now().Second()%7 < 3 { // there are pauses, so that tokens are saved
									time.Sleep(time.Duration(worker+1) * 20 * time.Millisecond)
								}
							}
						})
					}
				}
				all.Wait()
				t.Logf("%d calls in a minute, at most %.1f above the rate", calls, worst)
				if worst > c.most+n {
					t.Errorf("%.1f calls above the rate, want at most %.0f", worst, c.most)
				}
				if calls < 60*perSecond/2 {
					t.Errorf("%d calls came through", calls)
				}
			})
		})
	}
}

// A call that waits for its replica's share is served by the shared quota when that is back.
func TestWaiterComesBackFromAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := &faulty{Limiter: ratelimit.NewMemory()}
		callers, tool, _ := replicas(t, 1, ratelimit.Options{PerMinute: 6, Burst: 1, Shared: shared, Replicas: 6})
		shared.out.Store(true)
		began := time.Now()
		time.AfterFunc(3*time.Second, func() { shared.out.Store(false) })
		_, err := callers[0].CallTool(t.Context(), middleware.Call{Tool: tool})
		if took := time.Since(began); err != nil || took > 4*time.Second {
			t.Errorf("after %v: %v; its share alone would have come after a minute", took, err)
		}
	})
}

// A blocked limiter returns no answer before it is opened.
type blocked struct {
	ratelimit.Limiter

	open chan struct{}
	left atomic.Int64
}

func (b *blocked) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	<-b.open
	return b.Limiter.Take(context.WithoutCancel(ctx), w)
}

func (b *blocked) Leave(ctx context.Context, w ratelimit.Waiter) {
	b.left.Add(1)
	b.Limiter.Leave(ctx, w)
}

// A shared limiter that blocks counts as one that gives no answer.
func TestSharedThatBlocksIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := &blocked{Limiter: ratelimit.NewMemory(), open: make(chan struct{})}
		callers, tool, calls := replicas(t, 1, ratelimit.Options{PerMinute: 600, Burst: 5, Shared: shared, Replicas: 1})
		begin := time.Now()
		if _, err := callers[0].CallTool(t.Context(), middleware.Call{Tool: tool}); err != nil || calls.Load() != 1 {
			t.Errorf("%d calls came through: %v", calls.Load(), err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("the call took %v", took)
		}
		before := shared.left.Load()
		close(shared.open)
		synctest.Wait()
		if shared.left.Load() == before {
			t.Error("the place in line that came late was not given back")
		}
	})
}
