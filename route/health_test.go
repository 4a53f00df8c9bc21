package route_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/route"
)

var (
	errReset   = errors.New("connection reset")
	errNotSent = fmt.Errorf("no route to host: %w", &middleware.NotSentError{Err: errors.New("refused")})
)

type refusal struct{ error }

func (refusal) Refused() bool { return true }

type final struct{ error }

func (final) Permanent() bool { return true }

// Health has hysteresis: three failures in a row end it, and two successes in a
// row after the pause bring it back.
func TestHealthHasHysteresis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(route.RoundRobin, route.Options{}, route.Replica{ID: "a", Weight: 50})
		a := f.servers["a"]
		call := func() error {
			_, err := f.CallTool(context.Background(), middleware.Call{Tool: read})
			return err
		}
		want := func(when string, there bool) {
			t.Helper()
			before := a.calls.Load()
			err := call()
			if got := a.calls.Load() > before; got != there || !got && !errors.Is(err, route.ErrNoReplica) {
				t.Errorf("%s: the replica was called: %v, %v", when, got, err)
			}
		}
		a.fails(errReset)
		_, _ = call(), call()
		a.recovers()
		_ = call() // between two failures and one, a success
		a.fails(errReset)
		want("before any failure", true)
		want("after one failure", true)
		want("after two failures", true)
		want("after three failures", false)
		time.Sleep(5*time.Second - 1)
		want("within the pause", false)
		time.Sleep(1)
		want("after the pause, a trial that fails", true)
		time.Sleep(10*time.Second - 1)
		want("the pause doubled", false)
		time.Sleep(1)
		a.recovers()
		want("a first trial that succeeds", true)
		a.fails(errReset)
		want("a second that fails", true)
		want("and so it rests again", false)
		time.Sleep(20 * time.Second)
		a.recovers()
		_, _ = call(), call()
		a.fails(errReset)
		want("healthy again: one failure", true)
		want("is not its end", true)
	})
}

// A server that answers, even with a refusal or an error of its own, is there.
func TestWhatAServerAnswersIsNoFailureOfTheReplica(t *testing.T) {
	t.Parallel()
	for _, err := range []error{refusal{errReset}, final{errReset}} {
		f := newFleet(route.RoundRobin, route.Options{Failures: 1}, route.Replica{ID: "a"})
		f.servers["a"].fails(err)
		_, _ = f.CallTool(context.Background(), middleware.Call{Tool: read})
		if _, none := f.pool.Candidates(read); none != nil {
			t.Errorf("%T: %v", err, none)
		}
	}
}

// A replica that is being tried again gets one call at a time.
func TestTrialIsOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(route.RoundRobin, route.Options{Failures: 1}, route.Replica{ID: "a", Weight: 100})
		a := f.servers["a"]
		a.fails(errReset)
		_, _ = f.CallTool(context.Background(), middleware.Call{Tool: read})
		time.Sleep(5 * time.Second)
		a.recovers()
		leave := make(chan struct{})
		a.do = func(context.Context, middleware.Call) { <-leave }
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { _, _ = f.CallTool(context.Background(), middleware.Call{Tool: read}) })
		}
		synctest.Wait()
		_, err := f.CallTool(context.Background(), middleware.Call{Tool: read})
		if got := a.calls.Load(); got != 2 || err == nil || !strings.Contains(err.Error(), "is being tried by another call") {
			t.Errorf("%d calls, %v", got, err)
		}
		close(leave)
		all.Wait()
	})
}

// A write takes no part in finding out whether a replica is back, while there is a
// healthy one.
func TestWritesAvoidTrials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(route.RoundRobin, route.Options{Failures: 1}, route.Replica{ID: "a", Weight: 100}, route.Replica{ID: "b", Weight: 100})
		f.servers["a"].fails(errReset)
		for range 2 {
			_, _ = f.CallTool(context.Background(), middleware.Call{Tool: read})
		}
		time.Sleep(time.Minute)
		if got, _ := f.pool.Candidates(deletes); fmt.Sprint(got) != "[b]" {
			t.Errorf("a delete may go to %v", got)
		}
		if got, _ := f.pool.Candidates(read); fmt.Sprint(got) != "[a b]" {
			t.Errorf("a read may go to %v", got)
		}
	})
}

func TestPanicCountsAndLeavesNoCallUnderWay(t *testing.T) {
	t.Parallel()
	f := newFleet(route.LeastConnections, route.Options{Failures: 1}, route.Replica{ID: "a"}, route.Replica{ID: "b"})
	bad := f.served(t, read, "")
	for _, s := range f.servers {
		s.do = func(context.Context, middleware.Call) { panic("broken") }
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = f.CallTool(context.Background(), middleware.Call{Tool: read})
	}()
	got, err := f.pool.Candidates(read)
	if err != nil || len(got) != 1 {
		t.Errorf("candidates after a panic: %v, %v (first served by %s)", got, err, bad)
	}
}

func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		o := route.Options{Failures: 1, Successes: 1, Logger: slog.New(slog.NewTextHandler(&text, nil))}
		f := newFleet(route.RoundRobin, o, route.Replica{ID: "a"})
		f.servers["a"].fails(errReset)
		_, _ = f.CallTool(context.Background(), middleware.Call{Tool: read})
		f.servers["a"].recovers()
		time.Sleep(time.Minute)
		_, _ = f.CallTool(context.Background(), middleware.Call{Tool: read})
		for _, want := range []string{"route: the replica failed", "replica=a", "route: the replica is healthy again"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, text.String())
			}
		}
	})
}

// A host's "never again" is kept.
func TestLongestPauseDoesNotOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(route.RoundRobin, route.Options{Failures: 1, Pause: math.MaxInt64}, route.Replica{ID: "a"})
		f.servers["a"].fails(errReset)
		_, _ = f.CallTool(context.Background(), middleware.Call{Tool: read})
		f.servers["a"].fails(nil)
		time.Sleep(time.Hour)
		if _, err := f.CallTool(context.Background(), middleware.Call{Tool: read}); !errors.Is(err, route.ErrNoReplica) {
			t.Errorf("a replica that failed got a call in its pause: %v", err)
		}
	})
}
