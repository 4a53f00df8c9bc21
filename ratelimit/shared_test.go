package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
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
	ratelimit.Shared

	out atomic.Bool
}

func (f *faulty) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	if f.out.Load() {
		return 0, errOut
	}
	return f.Shared.Take(ctx, w)
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
		name    string
		outage  ratelimit.Outage
		lo, hi  int64 // calls of both replicas in 10 s, of 10 a second
		refused bool
	}{
		{"a share each", ratelimit.Share, 90, 102, false},
		{"the whole", ratelimit.Whole, 190, 202, false},
		{"none", ratelimit.Refuse, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := &faulty{Shared: ratelimit.NewMemory()}
				o := ratelimit.Options{PerMinute: 600, Burst: 4, Shared: shared, Outage: c.outage}
				if c.outage == ratelimit.Share {
					o.Replicas = 2
				}
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

func TestNewRefusesWhatGoesNotWithShared(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]ratelimit.Options{
		"no replicas":            {Shared: ratelimit.NewMemory()},
		"negative":               {Shared: ratelimit.NewMemory(), Replicas: -1},
		"replicas of nothing":    {Replicas: 2},
		"an outage of nothing":   {Outage: ratelimit.Refuse},
		"an outage that is none": {Shared: ratelimit.NewMemory(), Replicas: 1, Outage: 7},
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

func ExampleNewMemory() {
	shared := ratelimit.NewMemory() // or contrib/redis, over many processes
	server := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	tool, _ := middleware.NewTool("crm", &mcp.Tool{Name: "get"}, annotation.ReadOnly())
	for n := range 3 {
		replica := ratelimit.New(ratelimit.Options{PerMinute: 1, Burst: 2, MaxWait: time.Second, Shared: shared, Replicas: 3})(server)
		_, err := replica.CallTool(context.Background(), middleware.Call{Tool: tool})
		fmt.Println(n, errors.Is(err, ratelimit.ErrLimited))
	}
	// Output:
	// 0 false
	// 1 false
	// 2 true
}
