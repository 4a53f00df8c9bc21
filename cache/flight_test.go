package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A pending is one call that has been started.
type pending struct {
	done chan struct{}
	res  *mcp.CallToolResult
	err  error
	took time.Duration
}

// start makes the call on a goroutine and returns when it can go no further.
func start(ctx context.Context, c middleware.ToolCaller, call middleware.Call) *pending {
	p := &pending{done: make(chan struct{})}
	began := time.Now()
	go func() {
		defer close(p.done)
		p.err = errors.New("the caller's goroutine ended")
		p.res, p.err = c.CallTool(ctx, call)
		p.took = time.Since(began)
	}()
	synctest.Wait()
	return p
}

func (p *pending) returned() bool {
	synctest.Wait()
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// answer waits and returns the text of the result.
func (p *pending) answer(tb testing.TB) string {
	tb.Helper()
	<-p.done
	if p.err != nil {
		tb.Fatalf("got error %v", p.err)
	}
	return textOf(tb, p.res)
}

// taking answers after d, or when its context ends.
func taking(d time.Duration) *executor {
	return &executor{do: func(ctx context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
		select {
		case <-time.After(d):
			return text(fmt.Sprint(n)), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
}

func cancellable(t *testing.T) (context.Context, context.CancelCauseFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

var errGone = errors.New("this caller has gone")

func TestConcurrentReadsShareOneCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		callers int
		ctx     func(*testing.T) context.Context
	}{
		{"1,000 callers that cannot be cancelled", 1000, func(*testing.T) context.Context { return context.Background() }},
		{"B307: 10,000 callers", 10_000, func(t *testing.T) context.Context { ctx, _ := cancellable(t); return ctx }},
		{"1,000 callers with a deadline", 1000, func(t *testing.T) context.Context {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			t.Cleanup(cancel)
			return ctx
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := taking(time.Second)
				c := cache.New(cache.Options{})(e)
				its, ctx := middleware.Call{Tool: reader(t)}, tt.ctx(t)
				var wg sync.WaitGroup
				for range tt.callers {
					wg.Go(func() {
						res, err := c.CallTool(ctx, its)
						if err != nil || textOf(t, res) != "1" {
							t.Errorf("got %v and error %v", res, err)
						}
					})
				}
				wg.Wait()
				e.want(t, 1, "afterwards")
			})
		})
	}
}

func TestOtherQuestionsFlyApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := taking(time.Second)
		c := cache.New(cache.Options{})(e)
		read := reader(t)
		left := start(t.Context(), c, middleware.Call{Scope: "ann", Tool: read})
		right := start(t.Context(), c, middleware.Call{Scope: "bob", Tool: read})
		if left.answer(t) == right.answer(t) {
			t.Error("two scopes got one answer")
		}
	})
}

func TestLeaderLeavesAndFollowersGetTheirAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		stay int // of 1,000, those that stay
	}{{"B303: two stay", 2}, {"999 stay", 999}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := taking(time.Minute)
				c := cache.New(cache.Options{})(e)
				its := middleware.Call{Tool: reader(t)}
				ctx, cancel := cancellable(t)
				leader := start(ctx, c, its)
				var others []*pending
				for range tt.stay {
					their, _ := cancellable(t)
					others = append(others, start(their, c, its))
				}
				time.Sleep(30 * time.Second)
				cancel(errGone)
				if <-leader.done; !errors.Is(leader.err, errGone) || leader.took != 30*time.Second {
					t.Errorf("the leader got error %v after %v, want its own at once", leader.err, leader.took)
				}
				for _, p := range others {
					if got := p.answer(t); got != "1" || p.took != time.Minute {
						t.Fatalf("a follower got answer %s after %v, want 1 after 1m", got, p.took)
					}
				}
				call(t, c, its)
				e.want(t, 1, "afterwards, since it was kept too")
			})
		})
	}
}

// A caller that has its answer, if only that it is over, may use its buffers again.
func TestLeaderThatLeftMayReuseItsBuffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &executor{do: func(_ context.Context, _ int, call middleware.Call) (*mcp.CallToolResult, error) {
			time.Sleep(time.Minute)
			return text(fmt.Sprintf("%s %v", call.Arguments, call.Meta["traceparent"])), nil
		}}
		c := cache.New(cache.Options{})(e)
		const question = `{"id":1}`
		buffer, meta := []byte(question), mcp.Meta{"traceparent": "the leader"}
		ctx, cancel := cancellable(t)
		leader := start(ctx, c, middleware.Call{Tool: reader(t), Arguments: buffer, Meta: meta})
		follower := start(t.Context(), c, middleware.Call{Tool: reader(t), Arguments: json.RawMessage(question)})
		cancel(errGone)
		<-leader.done
		copy(buffer, `{"id":2}`)
		meta["traceparent"] = "somebody else"
		if got, want := follower.answer(t), question+" the leader"; got != want {
			t.Errorf("the follower got %q, want %q", got, want)
		}
	})
}

func TestAllLeaveAndTheCallEnds(t *testing.T) {
	t.Parallel()
	t.Run("B305", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { // the bubble fails if a goroutine is left
			var upstream context.Context
			ended := make(chan struct{})
			e := &executor{do: func(ctx context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
				if n > 1 {
					return text(fmt.Sprint(n)), nil
				}
				upstream = ctx
				<-ctx.Done()
				time.Sleep(time.Second) // it is slow to go
				close(ended)
				return nil, context.Cause(ctx)
			}}
			c := cache.New(cache.Options{})(e)
			its := middleware.Call{Tool: reader(t)}
			var all []*pending
			var cancels []context.CancelCauseFunc
			for range 3 {
				ctx, cancel := cancellable(t)
				all, cancels = append(all, start(ctx, c, its)), append(cancels, cancel)
			}
			for i, cancel := range cancels {
				if upstream.Err() != nil {
					t.Fatalf("the call was ended while %d still waited", len(cancels)-i)
				}
				cancel(errGone)
				if !all[i].returned() || !errors.Is(all[i].err, errGone) {
					t.Errorf("caller %d: got error %v, want its own at once", i, all[i].err)
				}
			}
			if upstream.Err() == nil {
				t.Error("no caller waits any more, and the call goes on")
			}
			// It still has not returned; a new caller does not join it.
			if got := textOf(t, call(t, c, its)); got != "2" {
				t.Errorf("a new caller got answer %s, want a call of its own", got)
			}
			<-ended
			synctest.Wait()
			if got := textOf(t, call(t, c, its)); got != "2" {
				t.Errorf("got answer %s; the end of the old call took the new answer away", got)
			}
		})
	})
}

type valueKey struct{}

func TestFlightKeepsTheLeadersDeadlineAndValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &executor{do: func(ctx context.Context, _ int, _ middleware.Call) (*mcp.CallToolResult, error) {
			if got, ok := ctx.Deadline(); !ok || time.Until(got) != time.Minute {
				t.Errorf("got a deadline in %v (%t), want the leader's", time.Until(got), ok)
			}
			if ctx.Value(valueKey{}) != "trace" {
				t.Error("the leader's values do not reach next")
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}
		c := cache.New(cache.Options{})(e)
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), valueKey{}, "trace"), time.Minute)
		defer cancel()
		p := start(ctx, c, middleware.Call{Tool: reader(t)})
		if <-p.done; !errors.Is(p.err, context.DeadlineExceeded) || p.took != time.Minute {
			t.Errorf("got error %v after %v, want the deadline's after 1m", p.err, p.took)
		}
		e.want(t, 1, "afterwards")
	})
}

func TestFollowerWithMoreTimeFliesAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		leader, follower time.Duration // 0 for no deadline
		joins            bool
	}{
		{"more time", time.Minute, 2 * time.Minute, false},
		{"no end", time.Minute, 0, false},
		{"the same time", time.Minute, time.Minute, true},
		{"less time", time.Minute, 30 * time.Second, true},
		{"a leader with no end", 0, time.Minute, true},
		{"both with no end", 0, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := taking(10 * time.Second)
				c := cache.New(cache.Options{})(e)
				its := middleware.Call{Tool: reader(t)}
				begin := func(limit time.Duration) *pending {
					if limit == 0 {
						ctx, _ := cancellable(t)
						return start(ctx, c, its)
					}
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					t.Cleanup(cancel)
					return start(ctx, c, its)
				}
				leader, follower := begin(tt.leader), begin(tt.follower)
				third := begin(tt.follower) // joins the one or the other
				calls := 2
				if tt.joins {
					calls = 1
				}
				if leader.answer(t) != "1" || follower.answer(t) != fmt.Sprint(calls) || third.answer(t) != fmt.Sprint(calls) {
					t.Errorf("leader %s, follower %s, third %s", leader.answer(t), follower.answer(t), third.answer(t))
				}
				e.want(t, calls, "afterwards")
			})
		})
	}
}

// A caller sees its own cancellation and its own deadline, and not another's.
func TestCallerSeesOnlyItsOwnEnd(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			e := taking(time.Duration(1+rng.IntN(100)) * time.Millisecond)
			c := cache.New(cache.Options{TTL: 20 * time.Millisecond})(e)
			read := reader(t)
			var wg sync.WaitGroup
			for i := range 12 {
				own := fmt.Errorf("the end of caller %d", i)
				begin := time.Duration(rng.IntN(100_000)) * time.Microsecond
				limit := time.Duration(rng.IntN(100_000)) * time.Microsecond
				kind := rng.IntN(4)
				wg.Go(func() {
					time.Sleep(begin)
					ctx, cancel := context.WithCancelCause(context.Background())
					defer cancel(nil)
					switch kind {
					case 0:
						time.AfterFunc(limit, func() { cancel(own) })
					case 1:
						var stop context.CancelFunc
						ctx, stop = context.WithTimeoutCause(ctx, limit, own)
						defer stop()
					case 2:
						ctx = context.Background()
					}
					res, err := c.CallTool(ctx, middleware.Call{Tool: read})
					deadline, limited := ctx.Deadline()
					late := limited && !time.Now().Before(deadline) // its timer may be about to run
					switch {
					case err == nil && res != nil:
					case res == nil && ctx.Err() != nil && errors.Is(err, own):
					case res == nil && late && errors.Is(err, context.DeadlineExceeded):
					default:
						t.Errorf("seed %d, caller %d: got error %v, its own context has %v", seed, i, err, context.Cause(ctx))
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestCancelledAtEntry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tool func(testing.TB) *middleware.Tool
	}{{"B311: a read", reader}, {"B311: a write", writer}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := new(executor)
			c := cache.New(cache.Options{})(e)
			read := middleware.Call{Tool: reader(t)}
			call(t, c, read)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errGone)
			res, err := c.CallTool(ctx, middleware.Call{Tool: tt.tool(t)})
			if res != nil || !errors.Is(err, errGone) || !middleware.NotSent(err) {
				t.Errorf("got %v and error %v, want the cause, marked as not sent", res, err)
			}
			call(t, c, read)
			e.want(t, 1, "nothing was called or forgotten")
		})
	}
}

// A panic or Goexit in next releases all waiters, and the next caller starts afresh.
func TestPanicAndGoexitReleaseWaiters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		break_ func() *mcp.CallToolResult
	}{
		{"B137: panic", func() *mcp.CallToolResult { panic("boom") }},
		{"panic with nil", func() *mcp.CallToolResult { panic(nil) }},
		{"Goexit", func() *mcp.CallToolResult { runtime.Goexit(); return nil }},
		{"a result that cannot be copied", func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{(*mcp.TextContent)(nil)}}
		}},
	} {
		for _, lasting := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, leader can be cancelled: %t", tt.name, lasting), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					e := &executor{do: func(_ context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
						if n > 1 {
							return text(fmt.Sprint(n)), nil
						}
						time.Sleep(time.Second)
						return tt.break_(), nil
					}}
					c := cache.New(cache.Options{})(e)
					its := middleware.Call{Tool: reader(t)}
					ctx := context.Background()
					if lasting {
						ctx, _ = cancellable(t)
					}
					all := []*pending{start(ctx, c, its), start(ctx, c, its), start(context.Background(), c, its)}
					time.Sleep(time.Second)
					for i, p := range all {
						if !p.returned() || p.res != nil || p.err == nil {
							t.Fatalf("caller %d: returned %t, got %v and error %v", i, p.returned(), p.res, p.err)
						}
					}
					e.want(t, 1, "before the next")
					if got := textOf(t, call(t, c, its)); got != "2" {
						t.Errorf("the next got answer %s, want 2", got)
					}
				})
			})
		}
	}
}

func TestErrorIsSharedAndNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			time.Sleep(time.Second)
			return nil, lost
		}}
		c := cache.New(cache.Options{})(e)
		its := middleware.Call{Tool: reader(t)}
		for _, p := range []*pending{start(t.Context(), c, its), start(t.Context(), c, its)} {
			if <-p.done; !errors.Is(p.err, lost) {
				t.Errorf("got error %v", p.err)
			}
		}
		e.want(t, 1, "together")
		start(t.Context(), c, its)
		e.want(t, 2, "afterwards")
		time.Sleep(time.Second)
	})
}

// A server's question belongs to the call that it was put to.
func TestQuestionOfTheServerIsNotShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &executor{do: func(_ context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
			time.Sleep(time.Second)
			return fromWire(t, fmt.Sprintf(`{"content":[],"resultType":"input_required","requestState":"%d"}`, n)), nil
		}}
		c := cache.New(cache.Options{})(e)
		its := middleware.Call{Tool: reader(t)}
		all := []*pending{start(t.Context(), c, its), start(t.Context(), c, its), start(t.Context(), c, its)}
		seen := make(map[string]bool)
		for _, p := range all {
			if <-p.done; p.err != nil || seen[p.res.RequestState] {
				t.Errorf("got %+v and error %v, want a state of its own", p.res, p.err)
				continue
			}
			seen[p.res.RequestState] = true
		}
		if got := time.Duration(2) * time.Second; all[2].took != got {
			t.Errorf("the last one took %v, want %v", all[2].took, got)
		}
	})
}
