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
)

// entryMemory is what an entry takes besides its result, beside golang-lru with keys as they are usually made.
func entryMemory(entries int) (row, error) {
	const least = 1.33
	r := row{Name: "entry-memory", Ratio: map[string]float64{}, PeerAllocs: map[string]float64{}, Goal: fmt.Sprintf("≥ %g× lru, no goroutine left", least)}
	running := runtime.NumGoroutine()
	ours, err := entryBytes(entries)
	if err != nil {
		return r, err
	}
	left := runtime.NumGoroutine() - running
	theirs, err := heapOf(func() (any, error) {
		known, err := lru.New[string, result](entries)
		for i := range entries {
			sum := sha256.Sum256([]byte(strconv.Itoa(i)))
			known.Add("crm/"+"list/"+hex.EncodeToString(sum[:]), answer)
		}
		return known, err
	})
	r.Ratio["lru"] = round2(float64(theirs) / float64(entries) / ours)
	r.Cost = fmt.Sprintf("%.0f B", ours)
	r.Met = r.Ratio["lru"] >= least && left == 0
	return r, err
}

// entryBytes returns how many bytes an entry of the cache takes besides its result.
func entryBytes(entries int) (float64, error) {
	kept, err := heapOf(func() (any, error) { return filled(entries) })
	if err != nil {
		return 0, err
	}
	results, err := heapOf(func() (any, error) { return privateResults(entries) })
	return float64(kept-results) / float64(entries), err
}

// filled returns a store with so many entries. Its parts are not equally full.
func filled(entries int) (any, error) {
	store := cache.NewStore(cache.StoreOptions{Entries: entries * 11 / 10, Bytes: math.MaxInt64})
	caller := cache.New(cache.Options{Store: store})(new(server))
	for i := range entries {
		call := middleware.Call{Tool: reads, Arguments: fmt.Appendf(nil, `{"id":%d}`, i)}
		if err := check(caller.CallTool(context.Background(), call)); err != nil {
			return nil, err
		}
	}
	if got := store.Stats().Entries; got != entries {
		return nil, fmt.Errorf("%d of %d entries are kept", got, entries)
	}
	return store, nil
}

// privateResults returns so many copies of one result, as hits get them.
func privateResults(n int) (any, error) {
	all := make([]result, n)
	caller := cache.New(cache.Options{})(new(server))
	call := middleware.Call{Tool: reads, Arguments: newArgument(200).raw}
	for i := range all {
		var err error
		if all[i], err = caller.CallTool(context.Background(), call); err != nil {
			return nil, err
		}
	}
	return all[1:], nil // the first one is not a copy
}

// heapOf returns how much of the heap that holds which f makes.
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
