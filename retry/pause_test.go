package retry_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A window refuses what comes before its end, and tells each call how long it still is.
type window struct {
	mu   sync.Mutex
	end  time.Time
	err  func(left time.Duration) error
	seen []time.Duration // of each attempt, since the start
	born time.Time

	takes time.Duration // to answer
}

func (w *window) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	w.mu.Lock()
	w.seen = append(w.seen, time.Since(w.born))
	w.mu.Unlock()
	time.Sleep(w.takes)
	if left := time.Until(w.end); left > 0 {
		return nil, w.err(left)
	}
	return answer, nil
}

func refusal(left time.Duration) error { return &failure{refused: true, after: left} }

// Twenty calls are turned away for two seconds. They come again after that, not all in one moment, and a call that is made
// in the meantime waits.
func TestPauseIsTheTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pause = 2 * time.Second
		var mu sync.Mutex
		drawn := 0.0
		w := &window{born: time.Now(), end: time.Now().Add(pause), err: refusal, takes: 10 * time.Millisecond}
		c := retry.New(retry.Options{Rand: func() float64 {
			mu.Lock()
			defer mu.Unlock()
			if drawn += 0.037; drawn >= 1 {
				drawn--
			}
			return drawn
		}})(w)
		tool := testtool.New("crm", "create_order", annotation.Destructive())
		var all sync.WaitGroup
		call := func(tool *middleware.Tool) {
			if _, err := c.CallTool(t.Context(), middleware.Call{Tool: tool}); err != nil {
				t.Error(err)
			}
		}
		for range 20 {
			all.Go(func() { call(tool) })
		}
		time.Sleep(pause / 4)
		all.Go(func() { call(tool) })
		all.Wait()
		late := slices.DeleteFunc(slices.Clone(w.seen), func(at time.Duration) bool { return at == 0 })
		if len(w.seen) != 41 || len(late) != 21 {
			t.Fatalf("got %d attempts, %d of them later; want 41 and 21", len(w.seen), len(late))
		}
		slices.Sort(late)
		if late[0] < pause || late[20] > 2*pause {
			t.Errorf("got attempts from %v to %v, want all after %v", late[0], late[20], pause)
		}
		if several := len(slices.Compact(late)); several < 15 {
			t.Errorf("21 calls came in %d moments", several)
		}
	})
}

// A pause that is too long to wait for is told, and no call is sent until it is over.
func TestPauseThatIsTooLong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    func(time.Duration) error
		tool   *middleware.Tool // of the second call, nil for the same
		paused bool
		within time.Duration // of the second call, after the first
	}{
		"in the window":               {refusal, nil, true, 29 * time.Second},
		"behind the window":           {refusal, nil, false, 30 * time.Second},
		"another tool":                {refusal, testtool.New("crm", "get_order", annotation.ReadOnly()), false, time.Second},
		"not refused, but paced":      {func(left time.Duration) error { return &failure{after: left} }, nil, true, time.Second},
		"a limiter of the host's own": {func(left time.Duration) error { return &failure{notSent: true, after: left} }, nil, false, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &window{born: time.Now(), end: time.Now().Add(30 * time.Second), err: tt.err}
				c := retry.New(retry.Options{Rand: always(0), Max: 500 * time.Millisecond})(w)
				tool := testtool.New("crm", "list_orders", annotation.ReadOnly())
				_, err := c.CallTool(t.Context(), middleware.Call{Tool: tool})
				if got, want := middleware.ForModel(err), "crm__list_orders failed once. Its server takes no call before 30s have passed. Call it again after that, use another tool, or tell the user."; got != want {
					t.Errorf("the model reads %q, want %q", got, want)
				}
				time.Sleep(tt.within)
				before := len(w.seen)
				if tt.tool != nil {
					tool = tt.tool
				}
				_, err = c.CallTool(t.Context(), middleware.Call{Tool: tool})
				paused, is := errors.AsType[*retry.PausedError](err)
				if is != tt.paused || (len(w.seen) == before) != tt.paused {
					t.Fatalf("got %v after %d attempts", err, len(w.seen)-before)
				}
				if !is {
					return
				}
				if left := 30*time.Second - tt.within; paused.RetryAfter() != left || !middleware.NotSent(err) {
					t.Errorf("got %v, not sent: %t", paused.RetryAfter(), middleware.NotSent(err))
				}
				want := "crm__list_orders was not called: its server asked for a pause. Call it again after " + (30*time.Second - tt.within).String() + ", use another tool, or tell the user."
				if got := middleware.ForModel(err); got != want {
					t.Errorf("the model reads %q, want %q", got, want)
				}
			})
		})
	}
}

func TestWaitForAPauseEndsWithItsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &window{born: time.Now(), end: time.Now().Add(5 * time.Second), err: refusal}
		c := retry.New(retry.Options{Attempts: 1, Rand: always(0)})(w)
		call := middleware.Call{Tool: testtool.New("crm", "list_orders", annotation.ReadOnly())}
		if _, err := c.CallTool(t.Context(), call); !middleware.Refused(err) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("the user left")
		time.AfterFunc(time.Second, func() { cancel(reason) })
		if _, err := c.CallTool(ctx, call); !middleware.NotSent(err) || !errors.Is(err, reason) || len(w.seen) != 1 {
			t.Errorf("got %v after %d attempts", err, len(w.seen))
		}
		brief, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		start := time.Now()
		if _, err := c.CallTool(brief, call); !middleware.NotSent(err) || time.Since(start) != 0 {
			t.Errorf("without the time to wait: got %v after %v", err, time.Since(start))
		}
	})
}

// A call that waits for a token of the rate limit is not sent within a pause that begins meanwhile, and takes no token:
// another tool of the server has the next one.
func TestPauseThatBeginsDuringAWaitForAToken(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]ratelimit.Limiter{"this process alone": nil, "a shared limiter": ratelimit.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if shared != nil {
					shared = ratelimit.NewMemory() // of this bubble
				}
				start := time.Now()
				var mu sync.Mutex
				sent := make(map[string][]time.Duration)
				executor := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					mu.Lock()
					at := time.Since(start)
					sent[call.Tool.Name()] = append(sent[call.Tool.Name()], at)
					mu.Unlock()
					if at == 0 {
						time.Sleep(500 * time.Millisecond)
						return nil, refusal(3 * time.Second)
					}
					return answer, nil
				})
				limits := ratelimit.New(ratelimit.Options{PerMinute: 60, Burst: 1, Shared: shared})
				c := chain.New(retry.New(retry.Options{Rand: func() float64 { return 0 }}), limits).Then(executor)
				paused, other := testtool.New("crm", "create_order", annotation.Destructive()), testtool.New("crm", "get_order", annotation.ReadOnly())
				var all sync.WaitGroup
				for _, tool := range []*middleware.Tool{paused, paused, other} {
					all.Go(func() {
						if _, err := c.CallTool(t.Context(), middleware.Call{Tool: tool}); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait()
				}
				all.Wait()
				if got := sent["create_order"]; len(got) != 3 || got[1] < 3500*time.Millisecond {
					t.Errorf("the tool with the pause was called at %v, want three calls, two of them from 3.5s on", got)
				}
				if got := sent["get_order"]; len(got) != 1 || got[0] > 1500*time.Millisecond {
					t.Errorf("the other tool was called at %v, want the token of the one that left the line", got)
				}
			})
		})
	}
}

// A call that finds a pause at the rate limit which is too long for it is not sent, and that is what the model reads.
func TestPauseTooLongDuringAWaitForAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			calls++
			time.Sleep(500 * time.Millisecond)
			return nil, refusal(time.Minute)
		})
		c := chain.New(retry.New(retry.Options{}), ratelimit.New(ratelimit.Options{PerMinute: 60, Burst: 1})).Then(executor)
		tool := testtool.New("crm", "create_order", annotation.Destructive())
		go func() { _, _ = c.CallTool(t.Context(), middleware.Call{Tool: tool}) }()
		synctest.Wait()
		_, err := c.CallTool(t.Context(), middleware.Call{Tool: tool})
		paused, ok := errors.AsType[*retry.PausedError](err)
		if !ok || calls != 1 || !middleware.NotSent(err) || paused.Wait < 59*time.Second {
			t.Errorf("got %v after %d calls, want a PausedError of about a minute after one", err, calls)
		}
	})
}
