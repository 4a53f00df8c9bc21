package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An arrival is one call of a random schedule.
type arrival struct {
	at       time.Duration
	scope    string
	tool     *middleware.Tool
	deadline time.Duration // after at; 0 for none
	cancel   time.Duration // after at; 0 for never
}

// A handover is what the executor saw of one.
type handover struct {
	arrival
	at time.Duration
}

// An end is what the caller saw of one.
type end struct {
	arrival
	took time.Duration
	err  error
}

// play runs the schedule against a limiter in a bubble of its own.
func play(t *testing.T, opts ratelimit.Options, schedule []arrival) (overs []handover, ends []end) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		type index struct{}
		c := ratelimit.New(opts)(middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
			mu.Lock()
			defer mu.Unlock()
			overs = append(overs, handover{schedule[ctx.Value(index{}).(int)], time.Since(start)})
			return new(mcp.CallToolResult), nil
		}))
		ends = make([]end, len(schedule))
		var wg sync.WaitGroup
		for i, a := range schedule {
			time.Sleep(a.at - time.Since(start))
			synctest.Wait() // calls of one instant come in the order of the schedule
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.WithValue(context.Background(), index{}, i))
				defer cancel()
				if a.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, a.deadline)
					defer cancel()
				}
				if a.cancel > 0 {
					time.AfterFunc(a.cancel, cancel)
				}
				_, err := c.CallTool(ctx, middleware.Call{Scope: a.scope, Tool: a.tool})
				ends[i] = end{a, time.Since(start) - a.at, err}
			})
			synctest.Wait()
		}
		wg.Wait()
	})
	return overs, ends
}

// inEveryWindow reports the first window with more than burst + rate*w calls.
func inEveryWindow(at []time.Duration, perMinute float64, burst int) error {
	slices.Sort(at)
	for i := range at {
		for j := i; j < len(at); j++ {
			if n, most := j-i+1, float64(burst)+perMinute/60*(at[j]-at[i]).Seconds()+1e-6; float64(n) > most {
				return fmt.Errorf("%d calls from %v to %v, at most %.3f allowed", n, at[i], at[j], most)
			}
		}
	}
	return nil
}

// TestRateInEveryWindow: whatever comes, is cancelled or runs out, in every window
// w at most burst + rate*w attempts are handed over for each scope and server and
// for each tool, none at or after its deadline, and nobody waits longer than asked.
func TestRateInEveryWindow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 5))
	pick := func(vs ...float64) float64 { return vs[rng.IntN(len(vs))] }
	var handed, waited, refused, given int
	for round := range 400 {
		opts := ratelimit.Options{PerMinute: pick(0, 7, 60, 90, 600), MaxWait: 20 * time.Second, MaxWaiters: 1 + rng.IntN(30)}
		if opts.PerMinute > 0 {
			opts.Burst = 1 + rng.IntN(4)
		}
		hints := []float64{pick(5, 30, 60), pick(60, 240, 1000)}
		tools := []*middleware.Tool{rated("a", hints[0]), rated("b", hints[1]), rated("c")}
		var schedule []arrival
		at := time.Duration(0)
		for range 40 {
			if rng.IntN(3) == 0 {
				at += time.Duration(rng.Int64N(int64(4 * time.Second)))
			}
			a := arrival{at: at, scope: string(rune('x' + rng.IntN(2))), tool: tools[rng.IntN(3)]}
			if rng.IntN(3) == 0 {
				a.deadline = time.Duration(rng.Int64N(int64(8 * time.Second)))
			}
			if rng.IntN(3) == 0 {
				a.cancel = 1 + time.Duration(rng.Int64N(int64(5*time.Second)))
			}
			schedule = append(schedule, a)
		}
		overs, ends := play(t, opts, schedule)
		handed += len(overs)

		for _, scope := range []string{"x", "y"} {
			times := func(of func(h handover) bool) (at []time.Duration) {
				for _, h := range overs {
					if h.scope == scope && of(h) {
						at = append(at, h.at)
					}
				}
				return at
			}
			if opts.PerMinute > 0 {
				if err := inEveryWindow(times(func(handover) bool { return true }), opts.PerMinute, opts.Burst); err != nil {
					t.Fatalf("round %d, %s, server: %v", round, scope, err)
				}
			}
			for i, hint := range hints {
				burst := max(1, int(hint/60))
				if err := inEveryWindow(times(func(h handover) bool { return h.tool == tools[i] }), hint, burst); err != nil {
					t.Fatalf("round %d, %s, tool %d: %v", round, scope, i, err)
				}
			}
		}
		for _, h := range overs {
			if h.deadline > 0 && h.at >= h.arrival.at+h.deadline {
				t.Fatalf("round %d: handed over at %v, its deadline was %v", round, h.at, h.arrival.at+h.deadline)
			}
			if h.at > h.arrival.at+opts.MaxWait {
				t.Fatalf("round %d: waited for %v", round, h.at-h.arrival.at)
			}
			if h.at > h.arrival.at {
				waited++
			}
		}
		for _, e := range ends {
			if e.deadline > 0 && e.took > e.deadline || e.cancel > 0 && e.took > e.cancel || e.took > opts.MaxWait {
				t.Fatalf("round %d: it came back after %v: %+v", round, e.took, e)
			}
			switch {
			case errors.Is(e.err, ratelimit.ErrLimited):
				refused++
			case e.err != nil:
				given++
			}
		}
	}
	t.Logf("handed over %d (%d after a wait), refused %d, given up %d", handed, waited, refused, given)
	if min(waited, refused, given) < 500 {
		t.Error("too little of something happened")
	}
}

// TestAgainstAModel compares one bucket with a few lines that know the future:
// each call goes at the time that its place in the queue gives, or is refused at
// once with just that wait.
func TestAgainstAModel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 11))
	for round := range 300 {
		const burst = 3
		interval := []time.Duration{time.Second, 250 * time.Millisecond, 3 * time.Second}[rng.IntN(3)]
		opts := ratelimit.Options{PerMinute: float64(time.Minute / interval), Burst: burst, MaxWait: 5*time.Second + 500}
		var schedule []arrival
		at := time.Duration(0)
		for range 40 {
			at += time.Duration(rng.Int64N(int64(2*interval))) * time.Duration(rng.IntN(2))
			a := arrival{at: at, tool: rated("a")}
			if rng.IntN(2) == 0 {
				a.deadline = 1 + time.Duration(rng.Int64N(int64(6*time.Second)))
			}
			schedule = append(schedule, a)
		}
		_, ends := play(t, opts, schedule)

		full := time.Duration(0) // when the bucket will be full without calls
		for i, e := range ends {
			goes := max(e.at, full-(burst-1)*interval)
			wait := goes - e.at
			const slack = 100 * time.Nanosecond
			if near := wait - e.deadline; e.deadline > 0 && max(near, -near) < slack {
				t.Fatalf("round %d: choose another seed; call %d is too near to its deadline", round, i)
			}
			if e.deadline > 0 && wait >= e.deadline || wait > opts.MaxWait {
				var limited *ratelimit.LimitedError
				if !errors.As(e.err, &limited) || e.took != 0 || max(limited.Wait-wait, wait-limited.Wait) > slack {
					t.Fatalf("round %d, call %d: got %v after %v, want a refusal with %v at once", round, i, e.err, e.took, wait)
				}
				continue
			}
			if e.err != nil || max(e.took-wait, wait-e.took) > slack {
				t.Fatalf("round %d, call %d: got %v after %v, want it to go after %v", round, i, e.err, e.took, wait)
			}
			full = max(full, e.at) + interval
		}
	}
}

// TestCancelledWaitersLeaveNoDebt: a limiter that many waited for in vain is, to
// the nanosecond, as one that never saw them.
func TestCancelledWaitersLeaveNoDebt(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(13, 17))
	for round := range 200 {
		opts := ratelimit.Options{PerMinute: 60, Burst: 2, MaxWait: time.Hour}
		tools := []*middleware.Tool{rated("a", 30), rated("b")}
		var calm, busy []arrival
		for i := range 6 { // these go through, in both: the last ones at 3 and 4 s
			calm = append(calm, arrival{at: time.Duration(i) * time.Second / 2, tool: tools[1]})
		}
		calm[0].tool = tools[rng.IntN(2)]
		busy = slices.Clone(calm)
		for range 60 { // these give up before a token could be theirs
			at := 2*time.Second + 600*time.Millisecond + time.Duration(rng.Int64N(int64(300*time.Millisecond)))
			busy = append(busy, arrival{at: at, tool: tools[rng.IntN(2)], cancel: 1 + time.Duration(rng.Int64N(int64(50*time.Millisecond)))})
		}
		var probes []arrival
		for i := range 8 {
			probes = append(probes, arrival{at: 3*time.Second + time.Duration(i)*100*time.Millisecond, tool: tools[rng.IntN(2)]})
		}
		slices.SortStableFunc(busy, func(a, b arrival) int { return int(a.at - b.at) })
		want, _ := play(t, opts, append(calm, probes...))
		got, ends := play(t, opts, append(busy, probes...))
		if len(got) != len(want) {
			t.Fatalf("round %d: %d calls went through, want %d", round, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("round %d: call %d went at %v, want %v as without the cancelled ones", round, i, got[i].at, want[i].at)
			}
		}
		for _, e := range ends {
			if e.cancel > 0 && !errors.Is(e.err, context.Canceled) {
				t.Fatalf("round %d: one that should have given up ended with %v", round, e.err)
			}
		}
	}
}
