package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"golang.org/x/sync/singleflight"
)

// A slowServer takes a while, so that all callers come while the first call is in flight.
type slowServer struct{ calls atomic.Int64 }

func (s *slowServer) CallTool(context.Context, middleware.Call) (result, error) {
	s.calls.Add(1)
	time.Sleep(30 * time.Millisecond)
	return answer, nil
}

// stampede is so many callers of one new read, beside singleflight, which shares one result
// and neither keys nor copies it. It is the cache alone: in the chain, budget would end so many equal calls.
func stampede(callers int) benchmark {
	const least = 0.125
	name := fmt.Sprintf("stampede/%d", callers)
	return benchmark{name, func(p pace) (row, error) {
		r := row{Name: name, Ratio: map[string]float64{}, PeerAllocs: map[string]float64{}, Goal: fmt.Sprintf("one call, ≥ %g× singleflight", least)}
		call := middleware.Call{Tool: reads, Arguments: newArgument(200).raw}
		var ratios, costs []float64
		for range p.rounds {
			s := new(slowServer)
			caller := cache.New(cache.Options{})(s)
			ours, err := together(callers, func() error { return check(caller.CallTool(context.Background(), call)) })
			if err != nil {
				return r, fmt.Errorf("%s: %w", name, err)
			}
			if n := s.calls.Load(); n != 1 {
				return r, fmt.Errorf("%s: the server got %d calls", name, n)
			}
			var flights singleflight.Group
			theirs, err := together(callers, func() error {
				res, err, _ := flights.Do("read", func() (any, error) { return s.CallTool(context.Background(), call) })
				if err != nil {
					return err
				}
				return check(res.(result), nil)
			})
			if err != nil {
				return r, fmt.Errorf("%s: singleflight: %w", name, err)
			}
			ratios, costs = append(ratios, float64(theirs)/float64(ours)), append(costs, float64(ours))
		}
		r.Ratio["singleflight"], r.Cost = round2(median(ratios)), time.Duration(median(costs)).String()
		r.Met = r.Ratio["singleflight"] >= least
		return r, nil
	}}
}

// together returns the CPU time of callers that begin at once.
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
