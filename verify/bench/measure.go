package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// A subject is one way to do the work of a row. Its run does it n times and checks every answer.
type subject struct {
	name string
	run  func(n int) error
	cpu  func() time.Duration // that it has used so far; nil for that of this process
}

// A contest lets our way and those of the peers do the same work by turns.
type contest struct {
	name   string
	ways   []subject          // ours first
	goals  map[string]float64 // the least ratio, by peer; 0 for none
	allocs float64            // the most allocations of ours; infinite for any
}

// pace is how long and how often a contest measures.
type pace struct {
	batch  time.Duration
	rounds int
}

// play measures a contest. The ways take turns within each round, and the ratio is the median over
// the rounds, so that other load on the machine weighs on all alike.
func play(c contest, p pace) (row, error) {
	counts := make([]int, len(c.ways))
	r := row{Name: c.name, Ratio: map[string]float64{}, PeerAllocs: map[string]float64{}, Met: true}
	for i, s := range c.ways {
		n, err := calibrate(s, p.batch)
		if err != nil {
			return r, fmt.Errorf("%s: %s: %w", c.name, s.name, err)
		}
		counts[i] = n
	}
	ratios := make([][]float64, len(c.ways))
	cost := make([]float64, 0, p.rounds)
	for round := range p.rounds {
		took := make([]float64, len(c.ways))
		for turn := range c.ways {
			i := (turn + round) % len(c.ways)
			spent, err := c.ways[i].spend(counts[i])
			if err != nil {
				return r, fmt.Errorf("%s: %s: %w", c.name, c.ways[i].name, err)
			}
			took[i] = float64(spent) / float64(counts[i])
		}
		for i := range c.ways {
			ratios[i] = append(ratios[i], took[i]/took[0])
		}
		cost = append(cost, took[0])
	}
	for i, s := range c.ways {
		allocs, err := s.allocs(counts[i])
		if err != nil {
			return r, fmt.Errorf("%s: %s: %w", c.name, s.name, err)
		}
		if i == 0 {
			r.Allocs = allocs
			continue
		}
		r.Ratio[s.name], r.PeerAllocs[s.name] = round2(median(ratios[i])), allocs
	}
	r.Cost = time.Duration(median(cost)).String()
	r.judge(c)
	return r, nil
}

// calibrate finds how many runs fill a batch, once the first has warmed up.
func calibrate(s subject, batch time.Duration) (int, error) {
	if err := s.run(1); err != nil {
		return 0, err
	}
	for n := 1; ; {
		spent, err := s.spend(n)
		if err != nil {
			return 0, err
		}
		if spent >= batch/2 || n >= 1<<24 {
			return max(1, int(float64(n)*float64(batch)/float64(max(spent, 1)))), nil
		}
		n *= 2
	}
}

// spend returns the CPU time of n runs, the collector's share included.
func (s subject) spend(n int) (time.Duration, error) {
	clock := s.cpu
	if clock == nil {
		clock = cpuTime
	}
	begun := clock()
	err := s.run(n)
	return clock() - begun, err
}

// allocs counts the allocations of one run; they are 0 for another process. It takes the minimum of several tries,
// since the rest of the process only adds to it.
func (s subject) allocs(n int) (least float64, err error) {
	if s.cpu != nil {
		return 0, nil
	}
	least = math.Inf(1)
	for range 3 {
		least = min(least, testing.AllocsPerRun(min(max(n, 20), 200), func() { err = errors.Join(err, s.run(1)) }))
	}
	return least, err
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

func round2(x float64) float64 {
	if x >= 100 {
		return math.Round(x)
	}
	return math.Round(x*100) / 100
}
