package main

import (
	"context"
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
func overCores(name string, workers int, least float64, arguments func(worker, n int) json.RawMessage) benchmark {
	return benchmark{name, func(p pace) (row, error) {
		caller := cache.New(cache.Options{Entries: 10_000, Shared: true})(middleware.ToolCallerFunc(
			func(context.Context, middleware.Call) (result, error) { return answer, nil }))
		made := 0
		cores := runtime.GOMAXPROCS(0)
		calls := func(workers int) (float64, error) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(workers, cores))) // the collector's too
			const each = 5000
			var all sync.WaitGroup
			errs := make([]error, workers)
			begun := time.Now()
			for w := range workers {
				all.Go(func() {
					for n := range each {
						_, err := caller.CallTool(context.Background(), middleware.Call{Tool: reads, Arguments: arguments(w, made+n)})
						errs[w] = errors.Join(errs[w], err)
					}
				})
			}
			all.Wait()
			made += each
			return float64(workers*each) / time.Since(begun).Seconds(), errors.Join(errs...)
		}
		var ratios, cost []float64
		for range p.rounds {
			one, err := calls(1)
			many, err2 := calls(workers)
			if err := errors.Join(err, err2); err != nil {
				return row{}, fmt.Errorf("%s: %w", name, err)
			}
			ratios, cost = append(ratios, many/one), append(cost, float64(time.Second)/many)
		}
		r := row{Name: name, Ratio: map[string]float64{"one": round2(median(ratios))}, PeerAllocs: map[string]float64{}}
		r.Goal, r.Cost = fmt.Sprintf("≥ %g× one, on %d cores", least, cores), time.Duration(median(cost)).String()
		r.Met = r.Ratio["one"] >= least
		return r, nil
	}}
}
