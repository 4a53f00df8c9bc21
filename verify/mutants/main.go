// Command mutants puts bugs into the library and runs the simulation, or tests of the package, against each. A
// bug that survives is a check that is missing.
//
//	go -C verify run ./mutants                            # all of them; exit 1 if one survives
//	go -C verify run ./mutants -check                     # only whether each still applies and compiles
//	go -C verify run ./mutants -since HEAD~20 -sample 40  # those in changed files, and 40 others
//	go -C verify run ./mutants -list                      # name, file:line and what the line becomes
//	go -C verify run ./mutants -only grant
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

func main() {
	var o options
	flag.BoolVar(&o.list, "list", false, "list the chosen mutants and run none")
	flag.BoolVar(&o.check, "check", false, "check that all mutants apply and compile, and run none")
	flag.Uint64Var(&o.seeds, "seeds", 20_000, "scenarios for each mutant, at most")
	flag.IntVar(&o.jobs, "jobs", max(1, runtime.GOMAXPROCS(0)), "mutants at once")
	flag.StringVar(&o.choice.only, "only", "", "choose those whose name has this in it")
	flag.StringVar(&o.choice.since, "since", "", "choose those in files that changed since this revision")
	flag.IntVar(&o.choice.sample, "sample", 0, "with -since, choose so many others too, drawn from the commit's hash")
	flag.BoolVar(&o.update, "update", false, "write the seeds that showed the mutants into README.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type options struct {
	choice choice
	list   bool
	check  bool
	update bool
	seeds  uint64
	jobs   int
}

func run(ctx context.Context, o options) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	mutants, err := parse(list)
	if err != nil {
		return err
	}
	var all []*placed
	var faults []error
	for _, m := range mutants {
		p, err := place(root, m)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all = append(all, p)
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	chosen, err := o.choice.choose(ctx, root, all)
	if err != nil {
		return err
	}
	if o.list {
		for _, p := range chosen {
			fmt.Printf("%s\t%s:%d\t%s\n", p.name, p.file, p.line, p.replaced)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h := &hunt{builder: builder{root, dir}, options: o, recorded: seeds(page)}
	if err := h.prepare(ctx, all); err != nil {
		return err
	}
	if o.check {
		fmt.Printf("mutants=%d all apply and compile, %d of them alone\n", len(all), len(h.woven.alone))
		return nil
	}
	return h.run(ctx, chosen)
}

// A hunt runs tests against mutants.
type hunt struct {
	builder
	options

	recorded map[string]uint64 // the first seed of each mutant of the simulation
	woven    *woven
	shared   string            // the overlay of the woven sources
	overlays map[string]string // of mutants that are alone
	binaries map[string]string // of the woven sources, by folder
}

// prepare checks that all mutants compile. The compiler's messages have a mutant's name as the file's.
func (h *hunt) prepare(ctx context.Context, all []*placed) (err error) {
	if h.woven, err = weave(all); err != nil {
		return err
	}
	if h.shared, err = h.overlay("woven", h.woven.files); err != nil {
		return err
	}
	faults := []error{h.compile(ctx, h.shared, h.woven.files)}
	h.overlays = make(map[string]string)
	for _, p := range h.woven.alone {
		files := map[string][]byte{p.file: p.source()}
		if h.overlays[p.name], err = h.overlay(p.name, files); err != nil {
			return err
		}
		if err := h.compile(ctx, h.overlays[p.name], files); err != nil {
			faults = append(faults, fmt.Errorf("mutant %s does not compile: %w", p.name, err))
		}
	}
	return errors.Join(faults...)
}

// run builds the binaries that the chosen mutants need, checks that their tests pass without a mutant, tries each
// mutant and prints the table.
func (h *hunt) run(ctx context.Context, chosen []*placed) error {
	if err := h.build(ctx, chosen); err != nil {
		return err
	}
	verdicts := make([]verdict, len(chosen))
	h.each(len(chosen), func(i int) {
		verdicts[i] = h.try(ctx, chosen[i])
		fmt.Printf("%-46s %s\n", chosen[i].name, verdicts[i])
	})
	caught := 0
	var faults []error
	for i, v := range verdicts {
		switch {
		case v.err != nil:
			faults = append(faults, fmt.Errorf("%s: %w", chosen[i].name, v.err))
		case v.caught:
			caught++
		default:
			faults = append(faults, fmt.Errorf("%s survived", chosen[i].name))
		}
	}
	fmt.Printf("mutants=%d caught=%d\n", len(chosen), caught)
	if h.update {
		faults = append(faults, updatePage(filepath.Join(h.root, "verify", "mutants", "README.md"), chosen, verdicts))
	}
	return errors.Join(faults...)
}

// baseline is how many scenarios have to pass without a mutant.
const baseline = "-seeds=200"

func (h *hunt) build(ctx context.Context, chosen []*placed) error {
	needed := make(map[string][]string) // by folder, the tests of its mutants
	for _, p := range chosen {
		these, simulated := p.look()
		if h.overlays[p.name] == "" || simulated { // which plays what showed it once more without it
			needed[these.folder] = append(needed[these.folder], these.run)
		}
	}
	folders := slices.Sorted(maps.Keys(needed))
	binaries := make([]string, len(folders))
	faults := make([]error, len(folders))
	h.each(len(folders), func(i int) {
		folder := folders[i]
		if binaries[i], faults[i] = h.binary(ctx, h.shared, folder); faults[i] != nil {
			return
		}
		runs := needed[folder]
		slices.Sort(runs)
		these := tests{folder, strings.Join(slices.Compact(runs), "|")}
		var args []string
		if folder == "verify/sim" {
			args = append(args, baseline)
		}
		if v := h.play(ctx, binaries[i], "", these, false, args...); v.caught || v.err != nil {
			faults[i] = fmt.Errorf("without a mutant, the tests %s of %s fail: %s", these.run, folder, v)
		}
	})
	h.binaries = make(map[string]string)
	for i, folder := range folders {
		h.binaries[folder] = binaries[i]
	}
	return errors.Join(faults...)
}

// each calls f for the numbers below n, as many at once as there are jobs.
func (h *hunt) each(n int, f func(i int)) {
	slots := make(chan struct{}, max(1, h.jobs))
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			f(i)
		})
	}
	running.Wait()
}

// around is how many seeds before and behind the recorded one are played first: if several events fall on one
// instant, a neighbor may be the first that shows the bug.
const around = 20

func (h *hunt) try(ctx context.Context, p *placed) verdict {
	these, simulated := p.look()
	binary := h.binaries[these.folder]
	if overlay := h.overlays[p.name]; overlay != "" {
		var err error
		if binary, err = h.binary(ctx, overlay, these.folder); err != nil {
			return verdict{err: err}
		}
		defer os.Remove(binary)
	}
	if !simulated {
		return h.play(ctx, binary, p.name, these, false)
	}
	if seed, ok := h.recorded[p.name]; ok {
		v := h.simulate(ctx, binary, p.name, these, seed-min(seed, around), 2*around)
		if v.caught || v.err != nil {
			return v
		}
	}
	return h.simulate(ctx, binary, p.name, these, 0, h.seeds)
}

// simulate plays scenarios against a mutant. The one that shows it has to pass without it.
func (h *hunt) simulate(ctx context.Context, binary, mutant string, these tests, first, n uint64) verdict {
	play := func(binary, active string, first, n uint64) verdict {
		return h.play(ctx, binary, active, these, true, fmt.Sprintf("-first=%d", first), fmt.Sprintf("-seeds=%d", n))
	}
	v := play(binary, mutant, first, n)
	seed, err := strconv.ParseUint(v.seed, 10, 64)
	if !v.caught || err != nil {
		return v
	}
	if clean := play(h.binaries[these.folder], "", seed, 1); clean.caught || clean.err != nil {
		return verdict{err: fmt.Errorf("seed %d fails without the mutant as well: %s", seed, clean)}
	}
	return v
}
