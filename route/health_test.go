package route_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	errReset   = errors.New("connection reset")
	errNotSent = fmt.Errorf("no route to host: %w", &middleware.NotSentError{Err: errors.New("refused")})
)

type refusal struct{ error }

func (refusal) Refused() bool { return true }

type final struct{ error }

func (final) Permanent() bool { return true }

// differs is a catalog's error for a replica with another definition.
type differs struct{ error }

func (differs) NotSent() bool    { return true }
func (differs) Permanent() bool  { return true }
func (differs) NotOffered() bool { return true }

// B259: a call that may have happened at one replica is not sent to another; a
// read is, and what never left is.
func TestB259FailoverOnlyWhereNothingCanHaveHappened(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		tool *middleware.Tool
		err  error
		over bool
	}{
		"a read that may have run":          {read, errReset, true},
		"a write that may have run":         {adds, errReset, false},
		"an idempotent write that may have": {sets, errReset, false},
		"a delete that may have run":        {deletes, errReset, false},
		"an unknown that may have run":      {unknown, errReset, false},
		"a delete that never left":          {deletes, errNotSent, true},
		"a delete refused before":           {deletes, refusal{errReset}, true},
		"a delete elsewhere defined":        {deletes, differs{errReset}, true},
		"a write that never left":           {adds, errNotSent, true},
		"a read with a final answer":        {read, final{errReset}, false},
	} {
		f := newFleet(route.RoundRobin, route.Options{}, route.Replica{ID: "a", Weight: 100}, route.Replica{ID: "b", Weight: 100})
		var called []string
		for id, s := range f.servers {
			s.do = func(context.Context, middleware.Call) {
				if called = append(called, id); len(called) == 1 {
					s.fails(row.err)
				}
			}
		}
		_, err := f.CallTool(context.Background(), middleware.Call{Tool: row.tool})
		if over := len(called) == 2; over != row.over || over == (err != nil) || !over && !errors.Is(err, row.err) {
			t.Errorf("%s: called %v, %v", name, called, err)
		}
	}
}

func TestEachReplicaIsTriedOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(route.RoundRobin, route.Options{}, route.Replica{ID: "a"}, route.Replica{ID: "b"}, route.Replica{ID: "c"})
	for _, s := range f.servers {
		s.fails(errReset)
	}
	_, err := f.CallTool(context.Background(), middleware.Call{Tool: read})
	if !errors.Is(err, errReset) {
		t.Errorf("got %v, want what the last replica said", err)
	}
	for id, s := range f.servers {
		if n := s.calls.Load(); n != 1 {
			t.Errorf("%s was called %d times, want once", id, n)
		}
	}
}

func TestCallersEndEndsTheCall(t *testing.T) {
	t.Parallel()
	f := newFleet(route.RoundRobin, route.Options{Failures: 1}, route.Replica{ID: "a"}, route.Replica{ID: "b"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, s := range f.servers {
		s.do = func(context.Context, middleware.Call) { cancel() }
		s.fails(context.Canceled)
	}
	if _, err := f.CallTool(ctx, middleware.Call{Tool: read}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if a, b := f.servers["a"].calls.Load(), f.servers["b"].calls.Load(); a+b != 1 {
		t.Errorf("a got %d calls and b %d", a, b)
	}
	if got, err := f.pool.Candidates(read); len(got) != 2 {
		t.Errorf("a caller that left made a replica fail: %v, %v", got, err)
	}
	if _, err := f.CallTool(ctx, middleware.Call{Tool: read}); !middleware.NotSent(err) {
		t.Errorf("a call of a done context: %v", err)
	}
}

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

// An offering replica reports the tools that it has in the accepted definition.
type offering struct {
	*server
	offers bool
}

func (o offering) Offers(*middleware.Tool) bool { return o.offers }

func TestReplicaWithAnotherDefinitionIsNotTheSameTool(t *testing.T) {
	t.Parallel()
	other, same := new(server), new(server)
	pool := route.NewPool("db", route.RoundRobin,
		route.Replica{ID: "other", Weight: 100, Caller: offering{other, false}}, route.Replica{ID: "same", Weight: 100, Caller: offering{same, true}})
	caller := route.New(route.Options{}, pool)(new(server))
	for range 10 {
		if _, err := caller.CallTool(context.Background(), middleware.Call{Tool: read}); err != nil {
			t.Fatal(err)
		}
	}
	if other.calls.Load() != 0 || same.calls.Load() != 10 {
		t.Errorf("calls: other %d, same %d", other.calls.Load(), same.calls.Load())
	}
	alone := route.NewPool("db", route.RoundRobin, route.Replica{ID: "other", Weight: 100, Caller: offering{other, false}})
	if _, err := alone.Candidates(read); err == nil || !strings.Contains(err.Error(), "other offers another definition of it") {
		t.Error(err)
	}
}

func TestWhyIsNoted(t *testing.T) {
	t.Parallel()
	f := newFleet(route.RoundRobin, route.Options{}, primaryAndReplica()...)
	n := callstate.Begin(context.Background())
	ctx := context.Context(n)
	if _, err := f.CallTool(ctx, middleware.Call{Tool: deletes}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(n.Record().Decisions); got != "[{route primary-db dangerous or unknown: primaries only}]" {
		t.Errorf("noted %s", got)
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

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(route.LeastConnections, route.Options{}, primaryAndReplica()...)
	f.servers["replica-db"].fails(errReset)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 200 {
				if _, err := f.CallTool(context.Background(), middleware.Call{Tool: read}); err != nil {
					t.Error(err)
				}
				if _, err := f.pool.Candidates(deletes); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func ExamplePool_Candidates() {
	answer := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return new(mcp.CallToolResult), nil
	})
	pool := route.NewPool("db", route.RoundRobin,
		route.Replica{ID: "primary-db", Weight: 80, Categories: []string{"database", "caching"}, Caller: answer},
		route.Replica{ID: "replica-db", Weight: 20, Categories: []string{"database"}, Caller: answer},
	)
	fmt.Println(pool.Candidates(deletes))
	fmt.Println(pool.Candidates(read))
	// Output:
	// [primary-db] <nil>
	// [primary-db replica-db] <nil>
}

func ExampleNew() {
	names := func(name string) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			fmt.Println(call.Tool.Name(), "at", name)
			return new(mcp.CallToolResult), nil
		})
	}
	pool := route.NewPool("db", route.RoundRobin,
		route.Replica{ID: "main", Weight: 80, Caller: names("main")},
		route.Replica{ID: "copy", Weight: 20, Caller: names("copy")},
	)
	caller := route.New(route.Options{}, pool)(names("no pool"))
	for _, tool := range []*middleware.Tool{read, read, deletes, deletes} {
		_, _ = caller.CallTool(context.Background(), middleware.Call{Tool: tool})
	}
	// Output:
	// query_users at copy
	// query_users at main
	// delete_user at main
	// delete_user at main
}
