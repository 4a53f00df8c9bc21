package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host's "for ever" is kept.
func TestLongestTimesDoNotOverflow(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]cache.Options{
		"TTL":              {TTL: math.MaxInt64},
		"TTL, shared":      {TTL: math.MaxInt64, Remote: cache.NewMemory()},
		"TTL and LocalTTL": {TTL: math.MaxInt64, LocalTTL: math.MaxInt64, Remote: cache.NewMemory()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := new(executor)
			c := cache.New(o)(e)
			time.Sleep(time.Millisecond)
			for range 3 {
				call(t, c, middleware.Call{Tool: reader(t)})
			}
			e.want(t, 1, name)
		})
	}
}

func keeping(t *testing.T, f annotation.Freshness, secret annotation.Hint) *middleware.Tool {
	t.Helper()
	a := annotation.ReadOnly()
	a.Freshness, a.Secret = f, secret
	tool, err := middleware.NewTool("files", &mcp.Tool{Name: "tool", Description: string(f) + secret.String()}, a)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// Calls are how often the server is called for two reads at one time and a third one.
func TestFreshnessDecides(t *testing.T) {
	t.Parallel()
	hour := func(*middleware.Tool, time.Duration) time.Duration { return time.Hour }
	off := func(*middleware.Tool, time.Duration) time.Duration { return 0 }
	for _, tt := range []struct {
		name     string
		f        annotation.Freshness
		secret   annotation.Hint
		lifetime func(*middleware.Tool, time.Duration) time.Duration
		calls    int
		will     string
	}{
		{"stable", annotation.Stable, annotation.Unset, nil, 1, "cache for 5m0s"},
		{"shared", annotation.Shared, annotation.No, nil, 1, "cache for 30s"},
		{"volatile", annotation.Volatile, annotation.Unset, nil, 3, "never cache, its result is volatile"},
		{"not understood", "", annotation.Unset, nil, 3, "never cache, its result is volatile"},
		{"not a freshness", "forever", annotation.Unset, nil, 3, "never cache, its result is volatile"},
		{"a secret", annotation.Stable, annotation.Yes, nil, 3, "never cache, its result is a secret"},
		{"stable, off", annotation.Stable, annotation.Unset, off, 2, "join calls in flight"},
		{"volatile, off", annotation.Volatile, annotation.Unset, off, 3, "never cache, its result is volatile"},
		{"volatile, an hour", annotation.Volatile, annotation.Unset, hour, 1, "cache for 1h0m0s"},
		{"a secret, an hour", annotation.Shared, annotation.Yes, hour, 3, "never cache, its result is a secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &executor{do: func(_ context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
					time.Sleep(time.Second)
					return text(fmt.Sprint(n)), nil
				}}
				std := chain.Standard{Cache: cache.New(cache.Options{Lifetime: tt.lifetime})}
				its := middleware.Call{Tool: keeping(t, tt.f, tt.secret)}
				c := std.Cache(e)
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() { call(t, c, its) })
				}
				wg.Wait()
				call(t, c, its)
				e.want(t, tt.calls, "three reads")
				if got := std.Explain(its.Tool); !strings.HasSuffix(got, tt.will+"\n") {
					t.Errorf("got %s, want it to end in %s", got, tt.will)
				}
			})
		})
	}
}

// The cached results of one chain are not used by another that caches nothing.
func TestLifetimeHoldsForWhatAnotherChainCached(t *testing.T) {
	t.Parallel()
	e, store := new(executor), cache.NewStore(cache.StoreOptions{})
	its := middleware.Call{Tool: keeping(t, annotation.Stable, annotation.Unset)}
	call(t, cache.New(cache.Options{Store: store})(e), its)
	off := cache.New(cache.Options{Store: store, Lifetime: func(*middleware.Tool, time.Duration) time.Duration { return 0 }})(e)
	call(t, off, its)
	call(t, off, its)
	e.want(t, 3, "one cached, and two reads that are not")
}

// A server shortens the lifetime of one result, and cannot lengthen it.
func TestServerShortensTheLifetime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ttl  any
		want time.Duration
	}{
		{nil, 30 * time.Second},
		{float64(5000), 5 * time.Second},
		{5000, 5 * time.Second},
		{1e300, 30 * time.Second},
		{float64(0), 0},
		{-1.0, 0},
		{"5000", 0},
	} {
		for _, remote := range []cache.Remote{nil, cache.NewMemory()} {
			synctest.Test(t, func(t *testing.T) {
				e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
					res := text("x")
					if tt.ttl != nil {
						res.Meta = mcp.Meta{"ttlMs": tt.ttl}
					}
					return res, nil
				}}
				c := cache.New(cache.Options{Remote: remote})(e)
				its := middleware.Call{Tool: keeping(t, annotation.Shared, annotation.Unset)}
				call(t, c, its)
				if tt.want > 0 {
					time.Sleep(tt.want - 1)
					call(t, c, its)
					e.want(t, 1, fmt.Sprint(tt.ttl, ", just before the end"))
					time.Sleep(1)
				}
				call(t, c, its)
				e.want(t, 2, fmt.Sprint(tt.ttl, ", at the end"))
			})
		}
	}
}

// The call record has the age of the answer, with a remote cache too.
func TestRecordHasTheAge(t *testing.T) {
	t.Parallel()
	for _, o := range []cache.Options{{}, {Remote: cache.NewMemory()}, {Remote: cache.NewMemory(), LocalTTL: time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			var got chain.Record
			watch := func(next middleware.ToolCaller) middleware.ToolCaller {
				return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					res, err := next.CallTool(ctx, call)
					got, _ = chain.RecordOf(ctx)
					return res, err
				})
			}
			c := chain.Standard{Outermost: []middleware.Middleware{watch}, Infer: infer.New(infer.Options{}), Cache: cache.New(o)}.Then(new(executor))
			its := middleware.Call{Tool: keeping(t, annotation.Stable, annotation.Unset)}
			for range 4 { // the third one is answered without the lock
				call(t, c, its)
				time.Sleep(4 * time.Second)
			}
			want := []chain.Decision{{Stage: "cache", What: "hit", Why: "from the cache, 12s old, stable"}}
			if got.Age != 12*time.Second || len(got.Decisions) != 1 || got.Decisions[0] != want[0] {
				t.Errorf("got %v, %v; want %v", got.Age, got.Decisions, want)
			}
		})
	}
}

func TestNeverRemembered(t *testing.T) {
	t.Parallel()
	answers := func(res *mcp.CallToolResult, err error) func(testing.TB) (*mcp.CallToolResult, error) {
		return func(testing.TB) (*mcp.CallToolResult, error) { return res, err }
	}
	wire := func(raw string) func(testing.TB) (*mcp.CallToolResult, error) {
		return func(tb testing.TB) (*mcp.CallToolResult, error) { tb.Helper(); return fromWire(tb, raw), nil }
	}
	ok := answers(text("ok"), nil)
	plain := func(tool *middleware.Tool) middleware.Call { return middleware.Call{Tool: tool} }
	for _, tt := range []struct {
		name   string
		answer func(testing.TB) (*mcp.CallToolResult, error)
		call   func(*middleware.Tool) middleware.Call
		kept   bool
	}{
		{"a result, to compare", ok, plain, true},
		{"structured content alone", wire(`{"content":[],"structuredContent":{"a":1}}`), plain, true},
		{"an error", answers(nil, errors.New("lost")), plain, false},
		{"an error beside a result", answers(text("x"), errors.New("lost")), plain, false},
		{"B107: isError", wire(`{"content":[{"type":"text","text":"no such file"}],"isError":true}`), plain, false},
		{"B115: input_required", wire(`{"content":[{"type":"text","text":"x"}],"resultType":"input_required"}`), plain, false},
		{"B115: input requests", answers(&mcp.CallToolResult{Content: text("x").Content, InputRequests: mcp.InputRequestMap{"a": nil}}, nil), plain, false},
		{"B115: a request state", wire(`{"content":[{"type":"text","text":"x"}],"requestState":"s"}`), plain, false},
		{"an empty result", answers(new(mcp.CallToolResult), nil), plain, false},
		{"B113: neither result nor error", answers(nil, nil), plain, false},
		{"the second leg of an exchange", ok, func(t *middleware.Tool) middleware.Call {
			return middleware.Call{Tool: t, Input: &middleware.Input{State: "s"}}
		}, false},
		{"B069: arguments that are large", ok, func(t *middleware.Tool) middleware.Call {
			return middleware.Call{Tool: t, Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)}
		}, false},
		{"a definition without a digest", ok, func(t *middleware.Tool) middleware.Call {
			bare := *t
			bare.Digest = middleware.Digest{}
			return middleware.Call{Tool: &bare}
		}, false},
	} {
		for _, on := range []*middleware.Tool{reader(t), tool(t, "set", annotation.Update())} {
			t.Run(tt.name+", "+on.Name(), func(t *testing.T) {
				t.Parallel()
				e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) { return tt.answer(t) }}
				c := cache.New(cache.Options{Idempotent: true})(e)
				for range 2 {
					_, _ = c.CallTool(t.Context(), tt.call(on))
				}
				want := 2
				if tt.kept {
					want = 1
				}
				e.want(t, want, "after two calls")
			})
		}
	}
}

func TestLifetimesOfResults(t *testing.T) {
	t.Parallel()
	of := func(f annotation.Freshness) annotation.Annotations {
		a := annotation.ReadOnly()
		a.Freshness = f
		return a
	}
	for _, tt := range []struct {
		name   string
		ttl    time.Duration
		a      annotation.Annotations
		source annotation.Source
		want   time.Duration
	}{
		{"B301: stable, by default 5 minutes", 0, of(annotation.Stable), annotation.Inferred, 5 * time.Minute},
		{"stable, as the host declares", time.Hour, of(annotation.Stable), annotation.Declared, time.Hour},
		{"shared", 0, of(annotation.Shared), annotation.Inferred, 30 * time.Second},
		{"shared, under a longer time", time.Hour, of(annotation.Shared), annotation.Host, 30 * time.Second},
		{"shared, under a shorter time", 10 * time.Second, of(annotation.Shared), annotation.Declared, 10 * time.Second},
		{"an idempotent write", 0, annotation.Update(), annotation.Host, 30 * time.Second},
		{"an idempotent write under a shorter time", 10 * time.Second, annotation.Update(), annotation.Host, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &executor{do: func(_ context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
					time.Sleep(time.Minute) // the time runs from the answer
					return text(fmt.Sprint(n)), nil
				}}
				c := cache.New(cache.Options{TTL: tt.ttl, Idempotent: true})(e)
				its := middleware.Call{Tool: toolOf(t, "files", mcp.Tool{Name: "tool"}, tt.a, tt.source)}
				call(t, c, its)
				time.Sleep(tt.want - 1)
				call(t, c, its)
				e.want(t, 1, "just before the end")
				time.Sleep(1)
				call(t, c, its)
				e.want(t, 2, "at the end")
			})
		})
	}
}
