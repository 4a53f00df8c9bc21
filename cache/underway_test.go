package cache_test

import (
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
