// Package storetest says whether a store that replicas of a host share keeps its
// promises: a memory (cache.Remote), a limiter (ratelimit.Shared), a record of
// approvals (approvals.Store) and a board of questions (approvals.Board).
//
// Who writes one for another engine calls [Run] in a test. It runs as well over
// what Fairlead has in memory and over contrib/redis.
package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// Stores are what one replica has of an engine: each a value of its own, on what all
// replicas share. What is nil is not tested.
type Stores struct {
	Cache     cache.Remote
	Limiter   ratelimit.Shared
	Approvals approvals.Store
	Board     approvals.Board
}

// Run runs all cases. For each it calls open, which returns two replicas of one
// engine that is empty, or at least holds nothing of other calls of open.
func Run(t *testing.T, open func(t *testing.T) (a, b Stores)) {
	t.Helper()
	play(t, open, func(t *testing.T, one func(t *testing.T)) { one(t) })
}

// A replicas is the pair that a case plays with.
type replicas struct{ a, b Stores }

// A testCase names the sentence that is broken if it fails.
type testCase struct {
	name string
	run  func(t *testing.T, r replicas)
}

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

// patience is how long a case waits for what is promised soon, on a machine with much
// else to do as well: it says that something never comes.
const patience = time.Minute

// soon is the time of what is to end within a case.
const soon = time.Second

// passes waits until soon is over, by every replica's clock.
func passes() { time.Sleep(soon + 40*time.Millisecond) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually looks until ok says yes.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// undisturbed plays a part of a case whose steps have to follow one another within a
// time, with things of its own each time. Where the machine stood still for longer, what
// came of it says nothing, and it is played again.
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

// race calls f n times at once, one half at each replica, and returns how many
// said yes.
func race(t *testing.T, n int, f func(i int) bool) int {
	t.Helper()
	begin, said := make(chan struct{}), make(chan bool, n)
	for i := range n {
		go func() {
			<-begin
			said <- f(i)
		}()
	}
	close(begin)
	yes := 0
	for range n {
		if <-said {
			yes++
		}
	}
	return yes
}

func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
