// Package storetest checks what replicas of a host share: a cache (cache.Remote), a limiter (ratelimit.Limiter), a
// record of approvals (approvals.Store), a board of questions (approvals.Board) and calls in doubt (doubt.Store). Call
// [Run] in the test of another engine.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

// Stores are what one replica has of a shared engine. A nil one is not tested.
type Stores struct {
	Cache     cache.Remote
	Limiter   ratelimit.Limiter
	Approvals approvals.Store
	Board     approvals.Board
	Doubt     doubt.Store
}

// Run runs all cases. open returns two replicas of one engine without anything of other calls of open.
func Run(t *testing.T, open func(t *testing.T) (a, b Stores)) {
	t.Helper()
	play(t, open, func(t *testing.T, one func(t *testing.T)) { one(t) })
}

// replicas are two of a host that share an engine.
type replicas struct{ a, b Stores }

type testCase struct {
	name string
	run  func(t *testing.T, r replicas)
}

// play runs the cases, each by in: for a real engine as it is, and in a bubble of testing/synctest for one in memory.
func play(t *testing.T, open func(t *testing.T) (a, b Stores), in func(t *testing.T, one func(t *testing.T))) {
	t.Helper()
	for _, part := range []struct {
		name  string
		has   func(Stores) bool
		cases []testCase
	}{
		{"cache", func(s Stores) bool { return s.Cache != nil }, cacheCases},
		{"limiter", func(s Stores) bool { return s.Limiter != nil }, limiterCases},
		{"approvals", func(s Stores) bool { return s.Approvals != nil }, approvalCases},
		{"board", func(s Stores) bool { return s.Board != nil }, boardCases},
		{"doubt", func(s Stores) bool { return s.Doubt != nil }, doubtCases},
	} {
		for _, c := range part.cases {
			t.Run(part.name+": "+c.name, func(t *testing.T) {
				t.Parallel()
				in(t, func(t *testing.T) {
					a, b := open(t)
					if !part.has(a) || !part.has(b) {
						t.Skip("there is none")
					}
					c.run(t, replicas{a, b})
				})
			})
		}
	}
}

// patience is how long a case waits for what must come, on a busy machine too.
const patience = time.Minute

// soon is the time of what is to end within a case.
const soon = time.Second

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually asks again and again, and fails the test if it is not so within a time.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// undisturbed runs a part whose steps must be within a time, and again, with new things, if the machine paused.
func undisturbed(t *testing.T, within time.Duration, part func(try string) (wrong string)) {
	t.Helper()
	for i := range 10 {
		began := time.Now()
		wrong := part(fmt.Sprint(i))
		if wrong == "" {
			return
		}
		if took := time.Since(began); took < within {
			t.Error(wrong)
			return
		}
	}
	t.Errorf("ten times in a row it took more than %v", within)
}

// race calls f n times at once, one half at each replica, and returns how many had an effect.
func race(t *testing.T, r replicas, n int, f func(s Stores, i int) error) int {
	t.Helper()
	begin := make(chan struct{})
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			switch err := f([]Stores{r.a, r.b}[i%2], i); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, approvals.ErrNoEffect):
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	return int(won.Load())
}

// done returns a context that is done.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
