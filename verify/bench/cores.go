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
	"golang.org/x/sync/singleflight"
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
type atomicServer struct {
	calls atomic.Int64
	slow  time.Duration
}

func (s *atomicServer) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	s.calls.Add(1)
	time.Sleep(s.slow)
	return answer, nil
}

// stampede is many callers of one question that nobody has asked before. It is the
// cache alone: so many same calls of one session are a loop, which budget ends.
func stampede(callers int) benchmark {
	name := fmt.Sprintf("stampede/%d", callers)
	return benchmark{name: name, run: func(p pace) (row, error) {
		r := row{Name: name, Ratio: map[string]float64{}, PeerAllocs: map[string]float64{}, Goal: "one execution, ≥ 0.125× singleflight"}
		const slow = 30 * time.Millisecond
		var ratios []float64
		for range p.rounds {
			s := &atomicServer{slow: slow}
			caller := cache.New(cache.Options{})(s)
			call := middleware.Call{Tool: reads, Arguments: newArgument(200).raw}
			ours, err := together(callers, func() error { return check(caller.CallTool(context.Background(), call)) })
			if err != nil {
				return r, err
			}
			if n := s.calls.Load(); n != 1 {
				return r, fmt.Errorf("%s: %d executions", name, n)
			}
			var flights singleflight.Group
			plain := &atomicServer{slow: slow}
			theirs, err := together(callers, func() error {
				res, err, _ := flights.Do("question", func() (any, error) { return plain.CallTool(context.Background(), call) })
				if err != nil {
					return err
				}
				return check(res.(*mcp.CallToolResult), nil)
			})
			if err != nil {
				return r, err
			}
			ratios = append(ratios, float64(theirs)/float64(ours))
		}
		r.Ratio["singleflight"] = round2(median(ratios))
		r.Met = median(ratios) >= 0.125
		return r, nil
	}}
}

// together is the CPU time of many goroutines that begin at once.
func together(callers int, one func() error) (time.Duration, error) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	errs := make([]error, callers)
	for i := range callers {
		all.Go(func() {
			<-begin
			errs[i] = one()
		})
	}
	begun := cpuTime()
	close(begin)
	all.Wait()
	return cpuTime() - begun, errors.Join(errs...)
}
