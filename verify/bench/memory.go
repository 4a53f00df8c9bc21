package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"strconv"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// entryMemory is what an entry takes besides its result, against golang-lru with
// keys as they are made everywhere, and sees that nothing runs on.
func entryMemory(entries int) benchmark {
	return benchmark{name: "entry-memory", run: func(pace) (row, error) {
		r := row{Name: "entry-memory", Ratio: map[string]float64{}, PeerAllocs: map[string]float64{}, Goal: "≥ 1.33× lru (≤ 0.75 of its memory), nothing left running"}
		running := runtime.NumGoroutine()
		ours, err := heapOf(func() (any, error) { return filled(entries) })
		if err != nil {
			return r, err
		}
		results, err := heapOf(func() (any, error) { return results(entries) })
		if err != nil {
			return r, err
		}
		theirs, err := heapOf(func() (any, error) {
			known, err := lru.New[string, *mcp.CallToolResult](entries)
			for i := range entries {
				sum := sha256.Sum256([]byte(strconv.Itoa(i)))
				known.Add("crm/"+"list/"+hex.EncodeToString(sum[:]), answer)
			}
			return known, err
		})
		if err != nil {
			return r, err
		}
		each := func(bytes int64) float64 { return float64(bytes) / float64(entries) }
		r.Ratio["lru"] = round2(each(theirs) / each(ours-results))
		r.Cost = fmt.Sprintf("%.0f B", each(ours-results))
		r.Met = r.Ratio["lru"] >= 1.33 && runtime.NumGoroutine() == running
		return r, nil
	}}
}

func filled(entries int) (any, error) {
	store := cache.NewStore(cache.StoreOptions{Entries: entries, Bytes: math.MaxInt64})
	caller := cache.New(cache.Options{Store: store})(new(server))
	for i := range entries {
		call := middleware.Call{Tool: reads, Arguments: []byte(`{"id":` + strconv.Itoa(i) + `}`)}
		if err := check(caller.CallTool(context.Background(), call)); err != nil {
			return nil, err
		}
	}
	if got := store.Stats().Entries; got != entries {
		return nil, fmt.Errorf("%d of %d entries are kept", got, entries)
	}
	return store, nil
}

// results are as many private results as the store has.
func results(n int) (any, error) {
	all := make([]*mcp.CallToolResult, n)
	caller := cache.New(cache.Options{})(new(server))
	call := middleware.Call{Tool: reads, Arguments: newArgument(64).raw}
	if err := check(caller.CallTool(context.Background(), call)); err != nil {
		return nil, err
	}
	for i := range all {
		res, err := caller.CallTool(context.Background(), call)
		if err != nil {
			return nil, err
		}
		all[i] = res
	}
	return all, nil
}

// heapOf is how much of the heap what f makes holds.
func heapOf(f func() (any, error)) (int64, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	made, err := f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(made)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc), err
}
