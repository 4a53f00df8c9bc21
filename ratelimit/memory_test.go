package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// A memory that is full of buckets refuses, until some are as good as new.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, refused := ratelimit.NewMemory(), 0
		take := func(scope string) bool {
			w := ratelimit.Waiter{ID: scope, Scope: scope, Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 1, Burst: 2}}, Most: 1}
			wait, err := m.Take(t.Context(), w)
			return err == nil && wait == 0
		}
		for i := range 100_100 {
			if !take(fmt.Sprint(i)) {
				refused++
			}
		}
		if refused != 100 {
			t.Errorf("%d of 100,100 are refused, want 100", refused)
		}
		if !take("7") {
			t.Error("one that has a bucket is refused")
		}
		time.Sleep(3 * time.Second)
		if !take("another") {
			t.Error("none fits when all are as good as new")
		}
	})
}

func TestBoundedNumberOfBuckets(t *testing.T) {
	t.Parallel()
	now := ratelimit.Options{PerMinute: 60, MaxWait: 1}
	try := func(t *testing.T, c middleware.ToolCaller, call middleware.Call, ok bool) {
		t.Helper()
		_, err := c.CallTool(t.Context(), call)
		if (err == nil) != ok || err != nil && !errors.Is(err, ratelimit.ErrLimited) {
			t.Errorf("%s: got %v, want it to go: %v", call.Scope, err, ok)
		}
	}
	scope := func(s string) middleware.Call { return middleware.Call{Scope: s, Tool: rated("a")} }

	t.Run("what does not fit is refused", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m, count := ratelimit.NewBounded(now, 2)
			c := m(newExecutor())
			try(t, c, scope("1"), true)
			try(t, c, scope("2"), true)
			try(t, c, scope("3"), false)
			try(t, c, scope("1"), false) // its own was not forgotten
			for name, full := range map[string]bool{"3": true, "1": false} {
				_, err := c.CallTool(t.Context(), scope(name))
				if limited, ok := errors.AsType[*ratelimit.LimitedError](err); !ok || limited.Full != full || limited.Wait > time.Second {
					t.Errorf("scope %s: got %v, want it to be refused for the host's limit: %v", name, err, full)
				}
			}
			if got := count(); got != 2 {
				t.Errorf("got %d buckets, want 2", got)
			}
		})
	})
	t.Run("an idle and full one is removed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m, count := ratelimit.NewBounded(now, 2)
			c := m(newExecutor())
			try(t, c, scope("1"), true)
			try(t, c, scope("2"), true)
			time.Sleep(time.Second)
			try(t, c, scope("3"), true)
			try(t, c, scope("4"), true)
			if got := count(); got != 2 {
				t.Errorf("got %d buckets, want 2", got)
			}
		})
	})
	t.Run("one that stays does not keep others", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m, count := ratelimit.NewBounded(ratelimit.Options{PerMinute: 60, MaxWait: 1, Servers: map[string]ratelimit.Limit{"slow": {PerMinute: 1}}}, 2)
			c := m(newExecutor())
			slow := scope("1")
			slow.Tool = &middleware.Tool{Server: "slow", Definition: slow.Tool.Definition, Annotations: slow.Tool.Annotations}
			try(t, c, slow, true) // the least recently used, and not full for a minute
			try(t, c, scope("1"), true)
			time.Sleep(time.Second)
			try(t, c, scope("2"), true)
			if got := count(); got != 2 {
				t.Errorf("got %d buckets, want 2", got)
			}
			try(t, c, slow, false)
		})
	})
	t.Run("100,000 by default", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := ratelimit.New(now)(newExecutor())
			for i := range 100_000 {
				try(t, c, scope(fmt.Sprint(i)), true)
			}
			try(t, c, scope("one more"), false)
		})
	})
}

// TestBoundNeverWeakensALimit: with far more scopes than buckets, each scope still
// has at most burst + rate*w in every window.
func TestBoundNeverWeakensALimit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(19, 23))
	for round := range 60 {
		synctest.Test(t, func(t *testing.T) {
			const perMinute, burst, hint = 120, 3, 60
			m, count := ratelimit.NewBounded(ratelimit.Options{PerMinute: perMinute, Burst: burst, MaxWait: 2 * time.Second}, 5)
			start := time.Now()
			var mu sync.Mutex
			all, hinted := map[string][]time.Duration{}, map[string][]time.Duration{}
			c := m(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				mu.Lock()
				defer mu.Unlock()
				all[call.Scope] = append(all[call.Scope], time.Since(start))
				if call.Tool.Annotations.RateLimitHint != nil {
					hinted[call.Scope] = append(hinted[call.Scope], time.Since(start))
				}
				return new(mcp.CallToolResult), nil
			}))
			var wg sync.WaitGroup
			for range 150 {
				time.Sleep(time.Duration(rng.Int64N(int64(400 * time.Millisecond))))
				call := middleware.Call{Scope: fmt.Sprint(rng.IntN(6)), Tool: rated("a")}
				if rng.IntN(3) == 0 {
					call.Tool = rated("b", hint)
				}
				wg.Go(func() { _, _ = c.CallTool(context.Background(), call) })
				if got := count(); got > 5 {
					t.Fatalf("got %d buckets, want at most 5", got)
				}
			}
			wg.Wait()
			for scope := range all {
				if err := inEveryWindow(all[scope], perMinute, burst); err != nil {
					t.Errorf("round %d, scope %s, server: %v", round, scope, err)
				}
				if err := inEveryWindow(hinted[scope], hint, 1); err != nil {
					t.Errorf("round %d, scope %s, tool: %v", round, scope, err)
				}
			}
		})
	}
}
