package sim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/verify/sim"
)

var (
	seeds = flag.Uint64("seeds", 300, "how many scenarios are played")
	first = flag.Uint64("first", 0, "the seed of the first one")
	seed  = flag.Int64("seed", -1, "play this one only, and print what happens")
)

// A scenario leaves little behind, so that collecting it less often costs no memory to
// speak of, and saves a fifth of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

func TestScenarios(t *testing.T) { play(t, "scenarios", sim.Run) }

// Two replicas over one engine that is slow, loses and is away keep the promises.
func TestSpread(t *testing.T) { play(t, "scenarios over replicas", sim.RunSpread) }

// Writes of others past the chain are seen in time.
func TestFresh(t *testing.T) { play(t, "scenarios with outsiders", sim.RunFresh) }

// A chain with an audit trail, a telemetry, or middlewares of the host that read the record returns the same errors and
// makes the same calls as without. The calls and executions are those of the scenarios that could be compared.
func TestAlike(t *testing.T) { play(t, "scenarios with and without onlookers", sim.RunAlike) }

// play runs scenarios on all processors until one breaks a promise.
func play(t *testing.T, what string, run func(*testing.T, uint64) sim.Outcome) {
	t.Helper()
	name := t.Name()
	if *seed >= 0 {
		replay(t, name, uint64(*seed), run)
		return
	}
	var next, scenarios, calls, executions atomic.Int64
	var stop atomic.Bool
	t.Run("workers", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for !stop.Load() {
					n := uint64(next.Add(1) - 1)
					if n >= *seeds {
						return
					}
					out := run(t, *first+n)
					scenarios.Add(1)
					calls.Add(int64(out.Calls))
					executions.Add(int64(out.Executions))
					if len(out.Violations) > 0 && !stop.Swap(true) {
						report(t, name, *first+n, out)
					}
				}
			})
		}
	})
	violations := 0
	if stop.Load() {
		violations = 1
	}
	fmt.Printf("%s=%d calls=%d executions=%d violations=%d\n", what, scenarios.Load(), calls.Load(), executions.Load(), violations)
}

// replay plays one scenario until it fails, for events of one instant may come
// in another order.
func replay(t *testing.T, name string, seed uint64, run func(*testing.T, uint64) sim.Outcome) {
	t.Helper()
	const tries = 20
	var out sim.Outcome
	for range tries {
		if out = run(t, seed); len(out.Violations) > 0 {
			report(t, name, seed, out)
			return
		}
	}
	if testing.Verbose() {
		fmt.Print(out.Trace())
	}
	fmt.Printf("seed %d was played %d times without a violation\n", seed, tries)
}

func report(t *testing.T, name string, seed uint64, out sim.Outcome) {
	t.Helper()
	fmt.Print(out.Trace())
	for _, v := range out.Violations {
		fmt.Printf("violation at seed %d: %s\n", seed, v)
	}
	fmt.Printf("replay: go -C verify test -v ./sim -run '^%s$' -seed=%d\n", name, seed)
	t.Errorf("seed %d breaks %d invariants", seed, len(out.Violations))
}

// Every invariant that a scenario may break is on the page of guarantees or on that of the mutants.
func TestInvariantsAreOnAPage(t *testing.T) {
	t.Parallel()
	guarantees, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := os.ReadFile(filepath.Join("..", "mutants", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, _, _ := strings.Cut(string(mutants), "\n|")
	page += string(guarantees)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := make(map[string]bool)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`[fF]\("(I\d+)`).FindAllStringSubmatch(string(source), -1) {
			checked[found[1]] = true
		}
	}
	if len(checked) < 25 {
		t.Errorf("%d invariants were found, want at least 25; has their form changed?", len(checked))
	}
	for name := range checked {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(page) {
			t.Errorf("%s is on neither page", name)
		}
	}
}
