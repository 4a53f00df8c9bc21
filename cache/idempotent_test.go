package cache_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestIdempotentWriteThatIsRemembered(t *testing.T) {
	t.Parallel()
	read, write := middleware.Call{Tool: reader(t)}, middleware.Call{Tool: writer(t)}
	set := middleware.Call{Tool: tool(t, "set", annotation.Update())}
	e := new(executor)
	c := cache.New(cache.Options{Idempotent: true})(e)
	call(t, c, read) // 1
	call(t, c, set)  // 2
	call(t, c, read) // 3: the write was one
	call(t, c, set)
	call(t, c, read)
	e.want(t, 3, "a write that is left out changes nothing")
	call(t, c, write) // 4
	call(t, c, set)   // 5
	e.want(t, 5, "another write may have undone it")
}

func TestIdempotentWriteThatAnotherOverlappedIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                 string
		set, setEnd, w, wEnd time.Duration
	}{
		{"the other within it", 0, 40, 10, 30},
		{"it within the other", 10, 30, 0, 40},
		{"the other begins later", 0, 30, 10, 40},
		{"the other begins earlier", 10, 40, 0, 30},
	} {
		for _, arguments := range []string{`{}`, `{"id":1}`} { // anything, and one thing
			t.Run(tt.name+" "+arguments, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					set, write := with(tool(t, "set", annotation.Update()), arguments), with(tool(t, "update", annotation.Write()), arguments)
					took := map[*middleware.Tool]time.Duration{set.Tool: tt.setEnd - tt.set, write.Tool: tt.wEnd - tt.w}
					e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
						time.Sleep(took[call.Tool] * time.Second)
						return text(fmt.Sprint(n)), nil
					}}
					c := cache.New(cache.Options{Entities: map[string][]string{"files/set": {"id"}, "files/update": {"id"}}, Idempotent: true})(e)
					var wg sync.WaitGroup
					wg.Go(func() { time.Sleep(tt.set * time.Second); call(t, c, set) })
					wg.Go(func() { time.Sleep(tt.w * time.Second); call(t, c, write) })
					wg.Wait()
					call(t, c, set)
					e.want(t, 3, "since the other may have undone it")
					call(t, c, set)
					e.want(t, 3, "alone it is remembered")
				})
			})
		}
	}
}

func TestIdempotentWriteIsNotAnsweredDuringAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := writer(t)
		set := middleware.Call{Tool: tool(t, "set", annotation.Update())}
		e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool == slow {
				time.Sleep(time.Minute)
			}
			return text(fmt.Sprint(n)), nil
		}}
		c := cache.New(cache.Options{Idempotent: true})(e)
		call(t, c, set)
		p := start(t.Context(), c, middleware.Call{Tool: slow})
		call(t, c, set)
		e.want(t, 3, "during the other")
		p.answer(t)
		call(t, c, set)
		e.want(t, 4, "after it, since the order of the two is not known")
	})
}

// A value that one replica has set is not set again by others, for 30 seconds or until a write.
// LocalTTL does not hold: the other's write ends it at once.
func TestReplicasShareWhatAnIdempotentWriteReturned(t *testing.T) {
	t.Parallel()
	for _, near := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, cache.Options{Idempotent: true, LocalTTL: near})
			set := middleware.Call{Tool: tool(t, "set", annotation.Update())}
			s.write = toolOf(t, set.Tool.Server, mcp.Tool{Name: "put"}, annotation.Write(), annotation.Host)
			call(t, s.a, set)
			call(t, s.b, set)
			call(t, s.a, set)
			s.wantCalls(t, 1)
			s.put(t, s.b, `{}`)
			call(t, s.a, set)
			s.wantCalls(t, 2)
			time.Sleep(30*time.Second - 1)
			call(t, s.b, set)
			s.wantCalls(t, 0)
			time.Sleep(1)
			call(t, s.b, set)
			s.wantCalls(t, 1)
		})
	}
}

// A write is left out only if the server had what it sets at some time during the call, whichever
// replica wrote. If the beginning of another write is lost, that one counts from when it returned.
func TestWriteIsLeftOutOnlyWhereItHolds(t *testing.T) {
	t.Parallel()
	set := tool(t, "set", annotation.Update())
	left := 0
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex // guards what follows
			rng := rand.New(rand.NewPCG(seed, 2))
			random := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return rng.IntN(n)
			}
			pause := func() { time.Sleep(time.Duration(random(50_000)) * time.Microsecond) }
			type state struct {
				value string
				from  time.Time // zero if it has not begun to count
			}
			states, deaf := []state{{"", time.Now()}}, seed%2 == 1
			next := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				pause()
				mu.Lock()
				its := len(states)
				states = append(states, state{string(call.Arguments), time.Now()})
				if deaf {
					states[its].from = time.Time{}
				}
				mu.Unlock()
				pause()
				mu.Lock()
				states[its].from = cmp.Or(states[its].from, time.Now())
				mu.Unlock()
				return text("done"), nil
			})
			o := cache.Options{Idempotent: true, Remote: &forgetful{cache.NewMemory(), func() bool { return deaf && random(8) == 0 }}}
			replicas := []middleware.ToolCaller{cache.New(o)(next), cache.New(o)(next)}
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					for range 8 {
						time.Sleep(time.Duration(random(300)) * time.Millisecond)
						arguments, began := fmt.Sprintf(`{"to":%d}`, random(2)), time.Now()
						call(t, replicas[i%2], middleware.Call{Tool: set, Arguments: json.RawMessage(arguments)})
						mu.Lock()
						held := false
						for at, s := range states {
							held = held || s.value == arguments && (at+1 == len(states) || states[at+1].from.IsZero() || !states[at+1].from.Before(began))
						}
						mu.Unlock()
						if !held {
							t.Errorf("seed %d: %s was left out and did not hold", seed, arguments)
						}
					}
				})
			}
			all.Wait()
			left += 32 - (len(states) - 1)
		})
	}
	if left == 0 {
		t.Error("no write was left out")
	}
}

// A forgetful remote cache gets the beginning of some writes late, after the error.
type forgetful struct {
	cache.Remote

	forgets func() bool
}

func (f *forgetful) Begin(ctx context.Context, w cache.Write) error {
	if f.forgets() {
		time.AfterFunc(50*time.Millisecond, func() { _ = f.Remote.Begin(context.WithoutCancel(ctx), w) })
		return errOut
	}
	return f.Remote.Begin(ctx, w)
}
