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

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type outcome struct {
	name string
	end  func(call middleware.Call) (*mcp.CallToolResult, error)
}

// outcomes are the possible ends of a write.
var outcomes = []outcome{
	{"a result", func(middleware.Call) (*mcp.CallToolResult, error) { return text("done"), nil }},
	{"isError", func(middleware.Call) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: text("half done").Content}, nil
	}},
	{"an error", func(middleware.Call) (*mcp.CallToolResult, error) { return nil, errors.New("lost") }},
	{"an unknown outcome", func(call middleware.Call) (*mcp.CallToolResult, error) {
		return nil, middleware.OutcomeUnknown(call, errors.New("lost"))
	}},
	{"a cancellation", func(middleware.Call) (*mcp.CallToolResult, error) { return nil, context.Canceled }},
	{"neither result nor error", func(middleware.Call) (*mcp.CallToolResult, error) { return nil, nil }},
	{"a panic", func(middleware.Call) (*mcp.CallToolResult, error) { panic("boom") }},
	{"Goexit", func(middleware.Call) (*mcp.CallToolResult, error) { runtime.Goexit(); return nil, nil }},
}

// mayGoOn are the ends of a write that may still happen.
var mayGoOn = map[string]bool{"an unknown outcome": true, "a cancellation": true, "a panic": true, "Goexit": true}

// swallow makes a call whatever becomes of it.
func swallow(c middleware.ToolCaller, call middleware.Call) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		_, _ = c.CallTool(context.Background(), call)
	}()
	<-done
}

func TestWriteInvalidatesItsServer(t *testing.T) {
	t.Parallel()
	classes := []struct {
		name string
		a    annotation.Annotations
	}{
		{"moderate", annotation.Write()}, {"idempotent", annotation.Update()},
		{"dangerous", annotation.Destructive()}, {"unknown", annotation.Annotations{}},
	}
	for _, class := range classes {
		for _, how := range outcomes {
			t.Run(class.name+", "+how.name, func(t *testing.T) {
				t.Parallel()
				read, write := reader(t), tool(t, "write", class.a)
				elsewhere := toolOf(t, "mail", mcp.Tool{Name: "read"}, annotation.ReadOnly(), annotation.Host)
				e := new(executor)
				e.do = func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
					if call.Tool == write {
						return how.end(call)
					}
					return text(fmt.Sprint(n)), nil
				}
				c := cache.New(cache.Options{})(e)
				reads := []middleware.Call{{Tool: read}, {Tool: read, Scope: "bob"}, {Tool: tool(t, "list", annotation.ReadOnly())}}
				for _, r := range reads {
					call(t, c, r)
				}
				call(t, c, middleware.Call{Tool: elsewhere})
				e.want(t, 4, "before the write")
				swallow(c, middleware.Call{Tool: write})
				for _, r := range reads {
					call(t, c, r)
				}
				e.want(t, 8, "every read of the server, of every scope, is made again")
				call(t, c, middleware.Call{Tool: elsewhere})
				for _, r := range reads {
					call(t, c, r)
				}
				known := 8
				if mayGoOn[how.name] {
					known += len(reads)
				}
				e.want(t, known, "other servers, and what was read since, are known")
			})
		}
	}
}

func TestNothingIsKnownWhileAWriteIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read, write := reader(t), writer(t)
		e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool == write {
				time.Sleep(time.Minute)
			}
			return text(fmt.Sprint(n)), nil
		}}
		c := cache.New(cache.Options{})(e)
		its := middleware.Call{Tool: read}
		call(t, c, its)                                              // 1
		first := start(t.Context(), c, middleware.Call{Tool: write}) // 2
		call(t, c, its)                                              // 3: not from memory
		call(t, c, its)                                              // 4: not stored
		time.Sleep(30 * time.Second)
		second := start(t.Context(), c, middleware.Call{Tool: write, Scope: "bob"}) // 5
		first.answer(t)
		call(t, c, its) // 6: one write is still under way
		call(t, c, its) // 7
		e.want(t, 7, "during the writes")
		second.answer(t)
		call(t, c, its) // 8: what was read during them does not count
		call(t, c, its)
		e.want(t, 8, "after the writes")
	})
}

// A read is "slow" here: it was begun before or during a write and ends after it.
func TestReadThatOverlappedAWriteIsNotStored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                   string
		read, readEnd, w, wEnd time.Duration
	}{
		{"begun before, ends during", 0, 20, 10, 30},
		{"begun before, ends after", 0, 40, 10, 30},
		{"begun during, ends after", 20, 40, 10, 30},
		{"begun and ends during", 15, 20, 10, 30},
		{"all at one moment", 10, 30, 10, 30},
	} {
		for _, arguments := range []string{`{}`, `{"id":1}`} { // anything, and one thing
			t.Run(tt.name+" "+arguments, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					read, write := with(reader(t), arguments), with(writer(t), arguments)
					e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
						if call.Tool == write.Tool {
							time.Sleep((tt.wEnd - tt.w) * time.Second)
						} else if n <= 2 {
							time.Sleep((tt.readEnd - tt.read) * time.Second)
						}
						return text(fmt.Sprint(n)), nil
					}}
					c := cache.New(cache.Options{Entities: map[string][]string{"files/read": {"id"}, "files/write": {"id"}}})(e)
					var wg sync.WaitGroup
					wg.Go(func() { time.Sleep(tt.read * time.Second); call(t, c, read) })
					wg.Go(func() { time.Sleep(tt.w * time.Second); call(t, c, write) })
					wg.Wait()
					call(t, c, read)
					e.want(t, 3, "the next read")
					call(t, c, read)
					e.want(t, 3, "the one after that")
				})
			})
		}
	}
}

func TestReadAfterAWriteJoinsNoOlderOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read, write := reader(t), writer(t)
		e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool == read {
				time.Sleep(time.Minute)
			}
			return text(fmt.Sprint(n)), nil
		}}
		c := cache.New(cache.Options{})(e)
		old := start(t.Context(), c, middleware.Call{Tool: read}) // 1
		call(t, c, middleware.Call{Tool: write})                  // 2
		fresh := start(t.Context(), c, middleware.Call{Tool: read})
		joined := start(t.Context(), c, middleware.Call{Tool: read})
		if got := old.answer(t) + fresh.answer(t) + joined.answer(t); got != "133" {
			t.Errorf("got answers %s, want 133", got)
		}
		if got := textOf(t, call(t, c, middleware.Call{Tool: read})); got != "3" {
			t.Errorf("got answer %s, want the fresh one", got)
		}
	})
}

// A flight that replaced an older one can still be joined when that one ends.
func TestEndOfAnOldFlightLeavesTheNewOne(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		t.Run(fmt.Sprintf("the old one was given up: %t", cancelled), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				read, write := reader(t), writer(t)
				e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
					if call.Tool == read {
						time.Sleep(time.Minute)
					}
					return text(fmt.Sprint(n)), nil
				}}
				c := cache.New(cache.Options{})(e)
				ctx, cancel := cancellable(t)
				start(ctx, c, middleware.Call{Tool: read}) // 1, until 60 s
				call(t, c, middleware.Call{Tool: write})   // 2
				time.Sleep(30 * time.Second)
				fresh := start(t.Context(), c, middleware.Call{Tool: read}) // 3, until 90 s
				if cancelled {
					cancel(errGone)
					synctest.Wait()
				} else {
					time.Sleep(40 * time.Second)
				}
				joined := start(t.Context(), c, middleware.Call{Tool: read})
				if got := fresh.answer(t) + joined.answer(t); got != "33" {
					t.Errorf("got answers %s, want 33", got)
				}
			})
		})
	}
}

// While a write is in flight it is unknown which of two reads saw it.
func TestReadsDuringAWriteDoNotJoin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := taking(time.Minute)
		c := cache.New(cache.Options{})(e)
		write := start(t.Context(), c, middleware.Call{Tool: writer(t)})
		left, right := start(t.Context(), c, middleware.Call{Tool: reader(t)}), start(t.Context(), c, middleware.Call{Tool: reader(t)})
		if got := write.answer(t) + left.answer(t) + right.answer(t); got != "123" {
			t.Errorf("got answers %s, want 123", got)
		}
	})
}

// No read is older than a write that had returned before it began: the server
// counts its writes, and a read that sees fewer than were finished is stale.
func TestNoReadIsOlderThanAFinishedWrite(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex // guards what follows
			random := func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(rng.IntN(50_000)) * time.Microsecond
			}
			written, finished := 0, 0
			read, write := reader(t), writer(t)
			set := tool(t, "set", annotation.Update())
			e := &executor{do: func(_ context.Context, _ int, call middleware.Call) (*mcp.CallToolResult, error) {
				time.Sleep(random())
				mu.Lock()
				if call.Tool != read {
					written++
				}
				version := written
				mu.Unlock()
				time.Sleep(random())
				return text(fmt.Sprint(version)), nil
			}}
			c := cache.New(cache.Options{Idempotent: true})(e)
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for range 6 {
						time.Sleep(random())
						if i == 0 {
							call(t, c, middleware.Call{Tool: write})
							mu.Lock()
							finished = max(finished, 1)
							mu.Unlock()
							continue
						}
						if i == 1 {
							call(t, c, numbered(set, int(random())))
							continue
						}
						mu.Lock()
						least := finished
						mu.Unlock()
						var got int
						_, _ = fmt.Sscan(textOf(t, call(t, c, middleware.Call{Tool: read})), &got)
						if got < least {
							t.Errorf("seed %d: a read saw %d writes, %d had finished before it began", seed, got, least)
						}
					}
				})
			}
			wg.Wait()
			if got := textOf(t, call(t, c, middleware.Call{Tool: read})); got != fmt.Sprint(written) {
				t.Errorf("seed %d: at the end a read saw %s writes of %d", seed, got, written)
			}
		})
	}
}

func TestWriteUnderWayBlocksOnlyWhatItMayChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		get, list, update := tool(t, "get", annotation.ReadOnly()), tool(t, "list", annotation.ReadOnly()), tool(t, "update", annotation.Write())
		e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool == update {
				time.Sleep(time.Minute)
			}
			return text(fmt.Sprint(n)), nil
		}}
		c := cache.New(cache.Options{Entities: named})(e)
		reads := []middleware.Call{with(get, `{"id":1}`), with(get, `{"id":2}`), with(list, `{}`)}
		for _, r := range reads {
			call(t, c, r) // 1, 2, 3
		}
		first := start(t.Context(), c, with(update, `{"note":1}`)) // 4
		time.Sleep(time.Second)
		second := start(t.Context(), c, with(update, `{"note":1}`)) // 5
		for range 2 {
			for _, r := range reads {
				call(t, c, r) // 6: get 1, 7: list, 8: get 1, 9: list
			}
		}
		e.want(t, 9, "of three reads, what the write names and the list are made each time")
		first.answer(t)
		call(t, c, reads[0]) // 10
		call(t, c, reads[0]) // 11
		e.want(t, 11, "one of the two is still under way")
		second.answer(t)
		call(t, c, reads[1])
		e.want(t, 11, "after the writes the other entity is still known")
		call(t, c, reads[0])
		call(t, c, reads[2])
		e.want(t, 13, "and what was read during them is not")
		call(t, c, reads[0])
		e.want(t, 13, "but what was read after them is")
	})
}

// A write that names nothing may change every entity while it is under way, and
// none once it is over.
func TestWriteOfEverythingBlocksEveryEntity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		get, write := with(tool(t, "get", annotation.ReadOnly()), `{"id":1}`), writer(t)
		update := tool(t, "update", annotation.Write())
		e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool == write || call.Tool == update {
				time.Sleep(time.Minute)
			}
			return text(fmt.Sprint(n)), nil
		}}
		c := cache.New(cache.Options{Entities: named})(e)
		under := start(t.Context(), c, with(write, `{}`)) // 1
		call(t, c, get)                                   // 2
		call(t, c, get)                                   // 3
		e.want(t, 3, "during the write")
		under.answer(t)
		call(t, c, get) // 4
		call(t, c, get)
		e.want(t, 4, "after it")
		other := start(t.Context(), c, with(update, `{"note":2}`)) // 5
		call(t, c, with(get.Tool, `{"id":3}`))                     // 6
		call(t, c, with(get.Tool, `{"id":3}`))
		call(t, c, get)
		e.want(t, 6, "while another entity is written to")
		other.answer(t)
	})
}

// No read is older than a finished write, whatever the writes name.
func TestNoEntityIsOlderThanAFinishedWriteToIt(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) { entities(t, seed) })
	}
}

func entities(t *testing.T, seed uint64) {
	t.Helper()
	var mu sync.Mutex // guards what follows
	rng := rand.New(rand.NewPCG(seed, 2))
	random := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
	pause := func() { time.Sleep(time.Duration(random(20_000)) * time.Microsecond) }
	var written, finished [4]int // per entity; the last one is the sum, for lists
	get, list := tool(t, "get", annotation.ReadOnly()), tool(t, "list", annotation.ReadOnly())
	update, bulk, write := tool(t, "update", annotation.Write()), tool(t, "delete_all", annotation.Destructive()), writer(t)
	touches := func(call middleware.Call) []int {
		var a struct {
			ID, Note *int
			IDs      []int
		}
		if err := json.Unmarshal(call.Arguments, &a); err != nil {
			t.Error(err)
		}
		switch call.Tool {
		case get:
			return []int{*a.ID}
		case update:
			return []int{*a.Note, 3}
		case bulk:
			return append(a.IDs, 3)
		case list:
			return []int{3}
		}
		return []int{0, 1, 2, 3}
	}
	e := &executor{do: func(_ context.Context, _ int, call middleware.Call) (*mcp.CallToolResult, error) {
		pause()
		mu.Lock()
		if call.Tool != get && call.Tool != list {
			for _, i := range touches(call) {
				written[i]++
			}
		}
		version := written[touches(call)[0]]
		mu.Unlock()
		pause()
		return text(fmt.Sprint(version)), nil
	}}
	c := cache.New(cache.Options{Entities: named})(e)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 12 {
				pause()
				its := [...]middleware.Call{
					with(get, fmt.Sprintf(`{"id":%d}`, random(3))), with(get, fmt.Sprintf(`{"id":%d}`, random(3))),
					with(list, `{}`), with(update, fmt.Sprintf(`{"note":%d}`, random(3))),
					with(bulk, fmt.Sprintf(`{"ids":[%d]}`, random(3))), with(write, `{}`),
				}[random(6)]
				touched := touches(its)
				mu.Lock()
				before, least := written, finished[touched[0]]
				mu.Unlock()
				var got int
				_, _ = fmt.Sscan(textOf(t, call(t, c, its)), &got)
				if its.Tool == get || its.Tool == list {
					if got < least {
						t.Errorf("seed %d: %s%s saw %d writes, %d had finished before it began", seed, its.Tool, its.Arguments, got, least)
					}
					continue
				}
				mu.Lock()
				for _, i := range touched { // at least the one that is now over
					finished[i] = max(finished[i], before[i]+1)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// A write that returned without a known end, and happens later, leaves no result in the cache that is older than it.
func TestWriteThatHappensLater(t *testing.T) {
	t.Parallel()
	for _, how := range outcomes {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				read, write := reader(t), tool(t, "write", annotation.Destructive())
				value := "before"
				c := cache.New(cache.Options{})(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					if call.Tool == write {
						return how.end(call)
					}
					return text(value), nil
				}))
				swallow(c, middleware.Call{Tool: write})
				later := mayGoOn[how.name]
				if got := textOf(t, call(t, c, middleware.Call{Tool: read})); got != "before" {
					t.Fatal(got)
				}
				time.Sleep(10 * time.Second)
				value = "after" // the write has happened
				if got := textOf(t, call(t, c, middleware.Call{Tool: read})); (got == "after") != later {
					t.Errorf("read is %q", got)
				}
				time.Sleep(time.Minute)
				call(t, c, middleware.Call{Tool: read})
				value = "not asked for"
				if got := textOf(t, call(t, c, middleware.Call{Tool: read})); got == "not asked for" {
					t.Error("nothing is cached any more")
				}
			})
		})
	}
}
