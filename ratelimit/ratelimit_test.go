package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("only hints", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, ratelimit.New(ratelimit.Options{}))
	})
	t.Run("with room", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, ratelimit.New(ratelimit.Options{PerMinute: 1e9}))
	})
}

// tool returns a tool of server "s" that bears hint calls a minute; none for no hint.
func rated(name string, hint ...float64) *middleware.Tool {
	t := testtool.New("s", name, annotation.ReadOnly())
	if len(hint) > 0 {
		t.Annotations.RateLimitHint = &hint[0]
	}
	return t
}

// executor records when each call was handed over.
type executor struct {
	mu    sync.Mutex
	start time.Time
	at    []time.Duration
	ids   []string
}

func newExecutor() *executor { return &executor{start: time.Now()} }

func (e *executor) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at = append(e.at, time.Since(e.start))
	e.ids = append(e.ids, call.ID)
	return new(mcp.CallToolResult), nil
}

func (e *executor) times() string { return fmt.Sprint(e.at) }

// begin makes n calls at once, in order, and returns a func that waits for them.
func begin(c middleware.ToolCaller, call middleware.Call, n int) (end func() []error) {
	errs := make([]error, n)
	wg := new(sync.WaitGroup)
	for i := range n {
		call := call
		call.ID = fmt.Sprint(i)
		wg.Go(func() { _, errs[i] = c.CallTool(context.Background(), call) })
		synctest.Wait()
	}
	return func() []error {
		wg.Wait()
		return errs
	}
}

func together(c middleware.ToolCaller, call middleware.Call, n int) []error {
	return begin(c, call, n)()
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		opts  ratelimit.Options
		tool  *middleware.Tool
		calls int
		want  string
	}{
		{"zero options and no hint: no limit", ratelimit.Options{}, rated("a"), 5, "[0s 0s 0s 0s 0s]"},
		{"the tool's hint, burst 1", ratelimit.Options{}, rated("a", 6), 3, "[0s 10s 20s]"},
		{"the tool's hint, one second's worth at once", ratelimit.Options{}, rated("a", 120), 4, "[0s 0s 500ms 1s]"},
		{"the server's limit", ratelimit.Options{PerMinute: 60, Burst: 2}, rated("a"), 4, "[0s 0s 1s 2s]"},
		{"B163: burst 0 is one second's worth", ratelimit.Options{PerMinute: 180}, rated("a"), 4, "[0s 0s 0s 333.333333ms]"},
		{"B163: burst 0 is at least 1", ratelimit.Options{PerMinute: 6}, rated("a"), 2, "[0s 10s]"},
		{"both: the stricter one counts", ratelimit.Options{PerMinute: 60}, rated("a", 6), 3, "[0s 10s 20s]"},
		{"both: the stricter one counts, the other way", ratelimit.Options{PerMinute: 6}, rated("a", 60), 3, "[0s 10s 20s]"},
		{"a server's own limit", ratelimit.Options{PerMinute: 60, Servers: map[string]ratelimit.Limit{"s": {PerMinute: 6}}}, rated("a"), 2, "[0s 10s]"},
		{"another server's own limit", ratelimit.Options{PerMinute: 60, Servers: map[string]ratelimit.Limit{"t": {PerMinute: 6}}}, rated("a"), 2, "[0s 1s]"},
		{"a server's own limit alone", ratelimit.Options{Servers: map[string]ratelimit.Limit{"s": {PerMinute: 60, Burst: 2}}}, rated("a"), 3, "[0s 0s 1s]"},
		{"a huge rate", ratelimit.Options{PerMinute: math.MaxFloat64}, rated("a", math.MaxFloat64), 3, "[0s 0s 0s]"},
		{"a burst that is not an int", ratelimit.Options{PerMinute: 1e21}, rated("a"), 3, "[0s 0s 0s]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newExecutor()
				for _, err := range together(ratelimit.New(tt.opts)(e), middleware.Call{Tool: tt.tool}, tt.calls) {
					if err != nil {
						t.Error(err)
					}
				}
				if got := e.times(); got != tt.want {
					t.Errorf("handed over at %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestNewPanicsForWhatIsNoLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts ratelimit.Options
		want string
	}{
		{"B159: a limit of 0 is not unlimited", ratelimit.Options{Servers: map[string]ratelimit.Limit{"s": {}}}, `ratelimit: Options.Servers["s"].PerMinute is 0`},
		{"B159: a burst with a limit of 0", ratelimit.Options{Burst: 1}, "ratelimit: Options.PerMinute is 0"},
		{"B161: negative", ratelimit.Options{PerMinute: -1}, "ratelimit: Options.PerMinute is negative"},
		{"not a number", ratelimit.Options{PerMinute: math.NaN()}, "ratelimit: Options.PerMinute is not finite"},
		{"infinite", ratelimit.Options{PerMinute: math.Inf(1)}, "ratelimit: Options.PerMinute is not finite"},
		{"negative burst", ratelimit.Options{PerMinute: 1, Burst: -1}, "ratelimit: Options.Burst is negative"},
		{"a server's negative limit", ratelimit.Options{Servers: map[string]ratelimit.Limit{"s": {PerMinute: -1}}}, `ratelimit: Options.Servers["s"].PerMinute is negative`},
		{"a server's negative burst", ratelimit.Options{Servers: map[string]ratelimit.Limit{"s": {PerMinute: 1, Burst: -2}}}, `ratelimit: Options.Servers["s"].Burst is negative`},
		{"negative wait", ratelimit.Options{MaxWait: -1}, "ratelimit: Options.MaxWait is negative"},
		{"negative waiters", ratelimit.Options{MaxWaiters: -1}, "ratelimit: Options.MaxWaiters is negative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, tt.want) {
					t.Errorf("got panic %q, want one that begins with %q", got, tt.want)
				}
			}()
			ratelimit.New(tt.opts)
		})
	}
}

func limited(t *testing.T, err error, wait time.Duration) {
	t.Helper()
	var e *ratelimit.LimitedError
	if !errors.Is(err, ratelimit.ErrLimited) || !errors.As(err, &e) {
		t.Fatalf("got %v, want a LimitedError", err)
	}
	if e.Wait != wait || !middleware.NotSent(err) || middleware.Permanent(err) != (wait == 0) || middleware.Refused(err) {
		t.Errorf("wait %v (want %v), not sent %v, permanent %v, refused by the server %v",
			e.Wait, wait, middleware.NotSent(err), middleware.Permanent(err), middleware.Refused(err))
	}
	if after, ok := middleware.RetryAfter(err); after != wait || ok != (wait > 0) {
		t.Errorf("RetryAfter: got %v, %v", after, ok)
	}
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](middleware.OutcomeUnknown(middleware.Call{Tool: e.Tool}, err)); unknown {
		t.Error("its outcome is known: nothing happened")
	}
}

func TestChainsFromOneMiddlewareShareTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExecutor()
		m := ratelimit.New(ratelimit.Options{PerMinute: 60})
		together(m(e), middleware.Call{Tool: rated("a")}, 1)
		together(m(e), middleware.Call{Tool: rated("a")}, 1)
		if got := e.times(); got != "[0s 1s]" {
			t.Errorf("handed over at %v", got)
		}
	})
}

func TestEveryAttemptPays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		failing := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			return nil, errors.New("down")
		})
		c := ratelimit.New(ratelimit.Options{PerMinute: 60})(failing)
		for range 3 {
			_, _ = c.CallTool(t.Context(), middleware.Call{Tool: rated("a")})
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("three attempts took %v, want 2s", took)
		}
	})
}

func TestWaitIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		drop := func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: drop}))
		c := ratelimit.New(ratelimit.Options{PerMinute: 60, Logger: logger})(newExecutor())
		together(c, middleware.Call{Tool: rated("a")}, 2)
		want := "level=INFO msg=\"ratelimit: waiting\" tool=s/a class=safe wait=1s\n"
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestCallWithoutToolIsLeftToTheGuard(t *testing.T) {
	t.Parallel()
	if _, err := ratelimit.New(ratelimit.Options{PerMinute: 1})(newExecutor()).CallTool(t.Context(), middleware.Call{}); err != nil {
		t.Error(err)
	}
}

func TestDescribedKindAndPromise(t *testing.T) {
	t.Parallel()
	c := ratelimit.New(ratelimit.Options{})(newExecutor())
	if got := c.(middleware.Describer).Describe().Kind; got != "ratelimit" {
		t.Errorf("kind: got %q", got)
	}
	if got := c.(middleware.Describer).Describe(); !got.Limits || got.Next == nil {
		t.Errorf("described as %+v", got)
	}
}

func TestErrorsHaveTheNextStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&ratelimit.LimitedError{Tool: rated("a")}, "ratelimit: s/a was refused: its rateLimitHint allows no calls; use another tool, or correct the hint"},
		{&ratelimit.LimitedError{Tool: rated("a"), Wait: 1234567 * time.Nanosecond}, "ratelimit: s/a was refused: there is room for it in 2ms, which is too long to wait; call it again then"},
		{&ratelimit.LimitedError{Tool: rated("a"), Wait: 90*time.Second + 1}, "ratelimit: s/a was refused: there is room for it in 1m31s, which is too long to wait; call it again then"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
