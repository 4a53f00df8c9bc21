// Command mutants puts one bug after another into the library and runs the simulation, or tests of
// the package, against it. A bug that survives is a check that is missing.
//
//	go -C verify run ./mutants          # all of them; exit 1 if one survives
//	go -C verify run ./mutants -list    # name, file:line and what the line becomes
//	go -C verify run ./mutants -only grant
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

func main() {
	show := flag.Bool("list", false, "list the mutants and run none")
	seeds := flag.Uint64("seeds", 20_000, "scenarios for each mutant, at most")
	only := flag.String("only", "", "run those whose name has this in it")
	jobs := flag.Int("jobs", max(1, runtime.GOMAXPROCS(0)), "mutants at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *show, *only, *seeds, *jobs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, show bool, only string, seeds uint64, jobs int) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	mutants, err := parse(list)
	if err != nil {
		return err
	}
	var chosen []*placed
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		p, err := place(root, m)
		if err != nil {
			return err
		}
		chosen = append(chosen, p)
	}
	if show {
		for _, p := range chosen {
			fmt.Printf("%s\t%s:%d\t%s\n", p.name, p.file, p.line, p.replaced)
		}
		return nil
	}
	return hunt(ctx, root, chosen, seeds, jobs)
}

// hunt runs the simulation against each mutant and prints the table.
func hunt(ctx context.Context, root string, chosen []*placed, seeds uint64, jobs int) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	verdicts := make([]verdict, len(chosen))
	slots := make(chan struct{}, jobs)
	var running sync.WaitGroup
	for i, p := range chosen {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			verdicts[i] = try(ctx, root, dir, p, seeds)
			fmt.Printf("%-34s %s\n", p.name, verdicts[i])
		})
	}
	running.Wait()
	caught := 0
	for i, v := range verdicts {
		if v.err != nil {
			return fmt.Errorf("%s: %w", chosen[i].name, v.err)
		}
		if v.caught {
			caught++
		}
	}
	fmt.Printf("mutants=%d caught=%d\n", len(chosen), caught)
	if caught < len(chosen) {
		return fmt.Errorf("%d survived", len(chosen)-caught)
	}
	return nil
}
