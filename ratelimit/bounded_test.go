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

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

	t.Run("what does not fit shares a bucket", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m, count := ratelimit.NewBounded(now, 2, 1)
			c := m(newExecutor())
			try(t, c, scope("1"), true)
			try(t, c, scope("2"), true)
			try(t, c, scope("3"), true)  // the shared one's token
			try(t, c, scope("4"), false) // so there is none
			try(t, c, scope("1"), false) // and its own was not forgotten
			if own, shared := count(); own != 2 || shared != 1 {
				t.Errorf("got %d and %d buckets, want 2 and 1", own, shared)
			}
		})
	})
	t.Run("an idle and full one makes room", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m, count := ratelimit.NewBounded(now, 2, 1)
			c := m(newExecutor())
			try(t, c, scope("1"), true)
			try(t, c, scope("2"), true)
			time.Sleep(time.Second)
			try(t, c, scope("3"), true)
			try(t, c, scope("4"), true)
			if own, shared := count(); own != 2 || shared != 0 {
				t.Errorf("got %d and %d buckets, want 2 and 0", own, shared)
			}
		})
	})
	t.Run("one that stays does not keep others", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m, count := ratelimit.NewBounded(ratelimit.Options{PerMinute: 60, MaxWait: 1, Servers: map[string]ratelimit.Limit{"slow": {PerMinute: 1}}}, 2, 1)
			c := m(newExecutor())
			slow := scope("1")
			slow.Tool = &middleware.Tool{Server: "slow", Definition: slow.Tool.Definition, Annotations: slow.Tool.Annotations}
			try(t, c, slow, true) // the least recently used, and not full for a minute
			try(t, c, scope("1"), true)
			time.Sleep(time.Second)
			try(t, c, scope("2"), true)
			if own, shared := count(); own != 2 || shared != 0 {
				t.Errorf("got %d and %d buckets, want 2 and 0", own, shared)
			}
			try(t, c, slow, false)
		})
	})
	t.Run("who had the burst of the shared one gets none of its own", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			slow := ratelimit.Options{PerMinute: 6, MaxWait: 1, Servers: map[string]ratelimit.Limit{"quick": {PerMinute: 60}}}
			m, _ := ratelimit.NewBounded(slow, 1, 1)
			c := m(newExecutor())
			quick := scope("1")
			quick.Tool = &middleware.Tool{Server: "quick", Definition: quick.Tool.Definition, Annotations: quick.Tool.Annotations}
			try(t, c, quick, true)
			try(t, c, scope("1"), true) // shared
			time.Sleep(time.Second)     // there is room now
			try(t, c, scope("1"), false)
			time.Sleep(9 * time.Second)
			try(t, c, scope("1"), false) // its own began empty
			time.Sleep(time.Second)
			try(t, c, scope("1"), true)
		})
	})
	t.Run("a bucket that somebody waits for stays", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m, _ := ratelimit.NewBounded(ratelimit.Options{PerMinute: 60, MaxWait: 30 * time.Second}, 2, 1)
			e := newExecutor()
			c := m(e)
			call := middleware.Call{Scope: "1", Tool: rated("a", 2)}
			together(c, call, 1)
			end := begin(c, call, 1) // will need the server's bucket, full by then, at 30 s
			time.Sleep(29 * time.Second)
			try(t, c, scope("2"), true) // no room but the shared one's
			end()
			try(t, c, middleware.Call{Scope: "1", Tool: rated("b")}, true) // after a second more, from the same bucket
			if got := e.times(); got != "[0s 29s 30s 31s]" {
				t.Errorf("handed over at %v", got)
			}
		})
	})
	t.Run("no room at all is a refusal", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m, count := ratelimit.NewBounded(now, 1, 1)
			c := m(newExecutor())
			try(t, c, middleware.Call{Tool: rated("a", 6)}, true) // one bucket each
			try(t, c, middleware.Call{Scope: "1", Tool: rated("a", 6)}, false)
			if own, shared := count(); own > 1 || shared > 1 {
				t.Errorf("got %d and %d buckets, want at most 1 and 1", own, shared)
			}
		})
	})
	t.Run("10,000 by default", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := ratelimit.New(now)(newExecutor())
			for i := range 10_001 {
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
			m, count := ratelimit.NewBounded(ratelimit.Options{PerMinute: perMinute, Burst: burst, MaxWait: 2 * time.Second}, 3, 2)
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
				if own, shared := count(); own > 3 || shared > 2 {
					t.Fatalf("got %d and %d buckets, want at most 3 and 2", own, shared)
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
