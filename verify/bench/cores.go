package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
)

// overCores measures calls a second: of so many goroutines ÷ of one. Reads are all new, or one that is cached.
// Since other work may have the second core, the gain is compared with that of a hash, which shares nothing.
func overCores(name string, workers int, least float64, arguments func(worker, n int) json.RawMessage) benchmark {
	return benchmark{name, func(p pace) (row, error) {
		caller := cache.New(cache.Options{Entries: 10_000, ImmutableResults: true})(middleware.ToolCallerFunc(
			func(context.Context, middleware.Call) (result, error) { return answer, nil }))
		heap := make([]byte, 64<<20) // a host has one, too; with less the collector hardly ever rests
		defer runtime.KeepAlive(heap)
		const each = 5000
		made := 0
		call := func(worker, n int) error {
			_, err := caller.CallTool(context.Background(), middleware.Call{Tool: reads, Arguments: arguments(worker, made+n)})
			return err
		}
		text := make([]byte, 2<<10)
		hash := func(int, int) error { sha256.Sum256(text); return nil }
		gain := func(do func(worker, n int) error) (ratio float64, cost time.Duration, err error) {
			var took [2]time.Duration
			for i, workers := range []int{1, workers} {
				var all sync.WaitGroup
				errs := make([]error, workers)
				begun := time.Now()
				for w := range workers {
					all.Go(func() {
						for n := range each {
							errs[w] = errors.Join(errs[w], do(w, n))
						}
					})
				}
				all.Wait()
				took[i] = time.Since(begun) / time.Duration(workers*each)
				err = errors.Join(err, errors.Join(errs...))
				made += each
			}
			return float64(took[0]) / float64(took[1]), took[1], err
		}
		var one, ofHash, costs []float64
		for range p.rounds {
			calls, cost, err := gain(call)
			hashes, _, err2 := gain(hash)
			if err := errors.Join(err, err2); err != nil {
				return row{}, fmt.Errorf("%s: %w", name, err)
			}
			one, ofHash, costs = append(one, calls), append(ofHash, calls/hashes), append(costs, float64(cost))
		}
		r := row{Name: name, Ratio: map[string]float64{"one": round2(median(one)), "hash": round2(median(ofHash))}, PeerAllocs: map[string]float64{}}
		r.Goal, r.Cost = fmt.Sprintf("≥ %g× the gain of a hash, on %d cores", least, runtime.GOMAXPROCS(0)), time.Duration(median(costs)).String()
		r.Met = r.Ratio["hash"] >= least
		return r, nil
	}}
}
