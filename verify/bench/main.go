// Command bench compares the chain with other ways to do its work, in one run and by turns: by CPU time and by
// allocations. It prints a table of ratios, peer ÷ ours, so that more is better.
//
//	go -C verify run ./bench                # all of it, a minute or two
//	go -C verify run ./bench -run call,hit  # rows whose names begin so
//	go -C verify run ./bench -json          # one object a line
//
// A missed goal is marked but is not a failure: the machine may be busy. A wrong answer is a failure,
// and so is a hit that reached the server.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
)

func main() {
	asJSON := flag.Bool("json", false, "print one JSON object a line and nothing else")
	only := flag.String("run", "", "only the rows whose names begin with one of these, separated by commas")
	rounds := flag.Int("rounds", 21, "how often each way has its turn")
	batch := flag.Duration("batch", 10*time.Millisecond, "how much CPU time one turn takes")
	flag.Parse()
	if serveChild() {
		return
	}
	if err := run(*asJSON, *only, pace{*batch, *rounds}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(asJSON bool, only string, p pace) error {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if !asJSON {
		fmt.Println(tableHead)
	}
	for _, b := range benchmarks() {
		if !chosen(b.name, only) {
			continue
		}
		r, err := b.run(p)
		if err != nil {
			return err
		}
		if !asJSON {
			fmt.Println(r.line())
		} else if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func chosen(name, only string) bool {
	return slices.ContainsFunc(strings.Split(only, ","), func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// A benchmark makes one row. Its ways are made only when it runs.
type benchmark struct {
	name string
	run  func(pace) (row, error)
}

// contests are the rows that are the same on every machine but for their times. What is waited for is at least
// so many times the work of naive and of failsafe, unless 0, and at most so many allocations.
var contests = []struct {
	name            string
	naive, failsafe float64
	allocs          float64
	limit           time.Duration // of each attempt, of the peers
	ours            build
	work            work
	alone           bool // no peer does the same
}{
	{name: "call/plain", naive: 2.5, failsafe: 6, allocs: 1, ours: ours(cache.Options{}), work: calling(writes)},
	{name: "call/deadline", naive: 1.5, failsafe: 4, allocs: 5, limit: time.Minute, ours: oursInTime, work: calling(writes)},
	// Two records, each handed over by a goroutine that a blocked sink keeps.
	{name: "call/audited", allocs: 6, ours: oursAudited, work: calling(writes), alone: true},
	{name: "call/granted", allocs: 3, ours: oursAgreed, work: calling(wipes), alone: true},
	{name: "hit/200B/repeat", naive: 20, allocs: 1, ours: ours(cache.Options{Shared: true}), work: asking(200, false)},
	{name: "hit/200B/fresh", naive: 9, allocs: 4, ours: ours(cache.Options{}), work: asking(200, true)},
	{name: "hit/4KB/repeat", naive: 20, allocs: 1, ours: ours(cache.Options{Shared: true}), work: asking(4<<10, false)},
	{name: "hit/4KB/fresh", naive: 9, allocs: 4, ours: ours(cache.Options{}), work: asking(4<<10, true)},
	{name: "hit/256KB/repeat", naive: 20, allocs: 1, ours: ours(cache.Options{Shared: true}), work: asking(256<<10, false)},
	{name: "hit/256KB/fresh", naive: 9, allocs: 4, ours: ours(cache.Options{}), work: asking(256<<10, true)},
	{name: "miss/plain", naive: 6, allocs: 5, ours: ours(cache.Options{}), work: missing(context.Background())},
	// A call with a context that ends runs on a goroutine of its own.
	{name: "miss/deadline", naive: 4, allocs: 12, ours: ours(cache.Options{}), work: missing(ending)},
}

func contestOf(name string) contest {
	for _, c := range contests {
		if c.name != name {
			continue
		}
		made := contest{
			name: name, ways: []subject{{name: "ours", run: c.work(c.ours)}},
			goals: map[string]float64{"naive": c.naive, "failsafe": c.failsafe}, allocs: c.allocs,
		}
		if !c.alone {
			made.ways = append(made.ways,
				subject{name: "naive", run: c.work(func(s *server) middleware.ToolCaller { return newNaive(s, c.limit) })},
				subject{name: "failsafe", run: c.work(func(s *server) middleware.ToolCaller { return newResilient(s, c.limit) })})
		}
		return made
	}
	panic("bench: no row " + name)
}

func benchmarks() (all []benchmark) {
	for _, c := range contests {
		all = append(all, benchmark{c.name, func(p pace) (row, error) { return play(contestOf(c.name), p) }})
	}
	hot := newArgument(200).raw
	all = append(all,
		overCores("cores/miss", 2, 0.8, func(worker, n int) json.RawMessage { return fmt.Appendf(nil, `{"id":"%d-%d"}`, worker, n) }),
		overCores("cores/hit", 16, 0.5, func(int, int) json.RawMessage { return hot }),
	)
	for _, at := range []int{1, 64} {
		if runtime.GOOS != "linux" { // only Linux reports the CPU time of another process in a file
			break
		}
		all = append(all, results("200B", 200, at), results("100KB", 100<<10, at))
	}
	return all
}

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

type row struct {
	Name       string             `json:"name"`
	Ratio      map[string]float64 `json:"ratio"` // peer ÷ ours
	Allocs     float64            `json:"allocs"`
	PeerAllocs map[string]float64 `json:"peer_allocs"`
	Goal       string             `json:"goal"`
	Met        bool               `json:"met"`
	// Cost is what ours took, for people: CPU time for most rows.
	Cost string `json:"cost,omitempty"`
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

func (r *row) judge(c contest) {
	var goals []string
	for _, peer := range c.ways[1:] {
		if least := c.goals[peer.name]; least > 0 {
			goals = append(goals, fmt.Sprintf("≥ %g× %s", least, peer.name))
			r.Met = r.Met && r.Ratio[peer.name] >= least
		}
	}
	if !math.IsInf(c.allocs, 1) {
		goals = append(goals, fmt.Sprintf("≤ %g allocs", c.allocs))
		r.Met = r.Met && r.Allocs <= c.allocs
	}
	r.Goal = strings.Join(goals, ", ")
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

const tableHead = "benchmark                ours        allocs  peers: ratio (allocs)                                     goal"

func (r row) line() string {
	var peers []string
	for name, ratio := range r.Ratio {
		peer := fmt.Sprintf("%s %g×", name, ratio)
		if allocs, ok := r.PeerAllocs[name]; ok {
			peer += fmt.Sprintf(" (%g)", allocs)
		}
		peers = append(peers, peer)
	}
	slices.Sort(peers)
	met := "met"
	if !r.Met {
		met = "MISSED"
	}
	return fmt.Sprintf("%-24s %-11s %-7g %-58s %s: %s", r.Name, r.Cost, r.Allocs, strings.Join(peers, ", "), met, r.Goal)
}
