package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// throughput is how much more two goroutines get done than one, in time on the
// wall: the best of many tries each, since a core that is lent to others shows no
// contention.
func throughput(rounds int, one func(worker, n int) error) (float64, error) {
	const n = 4000
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for range rounds * 40 {
		for workers := 1; workers <= 2; workers++ {
			var all sync.WaitGroup
			errs := make([]error, workers)
			begun := time.Now()
			for worker := range workers {
				all.Go(func() { errs[worker] = one(worker, n) })
			}
			all.Wait()
			best[workers-1] = min(best[workers-1], time.Since(begun))
			if err := errors.Join(errs...); err != nil {
				return 0, err
			}
		}
	}
	return 2 * float64(best[0]) / float64(best[1]), nil
}

// twoCores is a hit through the whole chain on two cores against one. Each goroutine has
// questions of its own, in a session of its own.
func twoCores(p pace) (row, error) {
	r := row{Name: "hit/2cores", Ratio: map[string]float64{}, PeerAllocs: map[string]float64{}, Goal: "≥ 1.3× one core"}
	if runtime.GOMAXPROCS(0) < 2 {
		r.Goal = "two cores"
		return r, nil
	}
	ways := [2]func(int) error{}
	s := new(atomicServer)
	caller := standard(cache.Options{Shared: true}).Then(guarded(s, reads, writes, wipes))
	for i := range ways {
		ways[i] = asking(func(*server) middleware.ToolCaller { return caller }, 200, false, fmt.Sprint("session", i))
	}
	ours, err := throughput(p.rounds, func(worker, n int) error { return ways[worker](n) })
	r.Ratio["one_core"] = round2(ours)
	judgeCores(&r)
	return r, err
}

func judgeCores(r *row) { r.Met = r.Ratio["one_core"] >= 1.3 }

// An atomicServer is a server for several goroutines.
type atomicServer struct{ calls atomic.Int64 }

func (s *atomicServer) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	s.calls.Add(1)
	return answer, nil
}
