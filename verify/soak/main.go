// Command soak lets agents call a thousand tools through the whole chain for a long time, on all cores,
// and checks that no answer is wrong or stale, that nothing happens twice or without an approval, and
// that neither memory nor goroutines grow.
//
//	go -C verify run ./soak -for 30m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/verify/world"
)

func main() {
	lasts := flag.Duration("for", 30*time.Minute, "how long")
	agents := flag.Int("agents", 16, "how many call at once")
	flag.Parse()
	if err := run(*lasts, *agents); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(lasts time.Duration, agents int) error {
	before := runtime.NumGoroutine()
	w, err := newSoak()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lasts)
	defer cancel()
	var working sync.WaitGroup
	for i := range agents {
		working.Go(func() { w.agent(ctx, i) })
	}
	working.Go(func() { w.judges(ctx) })
	grown := watch(ctx, lasts, w)
	working.Wait()
	w.judge()
	if err := w.close(); err != nil {
		return err
	}
	for range 100 { // those that are on their way out
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if left := runtime.NumGoroutine() - before; left > 0 {
		w.broken.Addf("%d goroutines are left", left)
	}
	fmt.Println(w)
	return errors.Join(w.broken.Err(), grown)
}

type sample struct {
	heap       uint64
	goroutines int
}

// watch takes a sample forty times, prints it, and reports what has grown from the second quarter to the last.
func watch(ctx context.Context, lasts time.Duration, w *soak) error {
	const samples = 40
	tick := time.NewTicker(lasts / (samples + 1))
	defer tick.Stop()
	var all []sample
	begun := time.Now()
	fmt.Println("after      heap, KB  goroutines  calls")
	for len(all) < samples {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d samples were taken", len(all), samples)
		}
		s := w.sample()
		all = append(all, s)
		fmt.Printf("%-9v  %8d  %10d  %d\n", time.Since(begun).Round(time.Second), s.heap>>10, s.goroutines, w.calls.Load())
	}
	second, last := mean(all[samples/4:samples/2]), mean(all[samples/4*3:])
	if last.heap > second.heap+second.heap/10 {
		return fmt.Errorf("the heap has grown from %d KB to %d KB", second.heap>>10, last.heap>>10)
	}
	if last.goroutines > second.goroutines+second.goroutines/10 {
		return fmt.Errorf("the goroutines have grown from %d to %d", second.goroutines, last.goroutines)
	}
	return nil
}

// judges checks the calls against the laws often, so that there are never many.
func (w *soak) judges(ctx context.Context) {
	for world.Wait(ctx, 200*time.Millisecond) == nil {
		w.pause.Lock()
		w.judge()
		w.pause.Unlock()
	}
}

// sample waits for the calls that are on their way.
func (w *soak) sample() sample {
	w.pause.Lock()
	defer w.pause.Unlock()
	time.Sleep(time.Millisecond) // flights without callers
	w.judge()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return sample{heap: m.HeapAlloc, goroutines: runtime.NumGoroutine()}
}

func mean(of []sample) (m sample) {
	for _, s := range of {
		m.heap += s.heap / uint64(len(of))
		m.goroutines += s.goroutines
	}
	m.goroutines /= len(of)
	return m
}
