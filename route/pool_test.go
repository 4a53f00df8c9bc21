package route_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// Of no tool nothing is known.
func TestCandidatesForNoTool(t *testing.T) {
	t.Parallel()
	next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return new(mcp.CallToolResult), nil
	})
	p := route.NewPool("s", route.RoundRobin, route.Replica{ID: "a", Caller: next}, route.Replica{ID: "b", Caller: next, Weight: 50})
	if got, err := p.Candidates(nil); err != nil || !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// The article's example: a delete goes to the primary alone, a query to either.
func TestCandidatesAnswerWithoutCalling(t *testing.T) {
	t.Parallel()
	f := newFleet(route.RoundRobin, route.Options{}, primaryAndReplica()...)
	for _, row := range []struct {
		tool *middleware.Tool
		want []string
	}{
		{deletes, []string{"primary-db"}},
		{read, []string{"primary-db", "replica-db"}},
		{sets, []string{"primary-db"}}, // it prefers a caching replica
		{adds, []string{"primary-db", "replica-db"}},
		{unknown, []string{"primary-db"}},
	} {
		got, err := f.pool.Candidates(row.tool)
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%s: got %v, %v, want %v", row.tool, got, err, row.want)
		}
	}
	for id, s := range f.servers {
		if n := s.calls.Load(); n != 0 {
			t.Errorf("%s was called %d times", id, n)
		}
	}
}

// B263: no weaker replica is taken, and the error has the reason for each one.
func TestB263DangerousNeverFallsOpen(t *testing.T) {
	t.Parallel()
	f := newFleet(route.RoundRobin, route.Options{Failures: 1}, route.Replica{ID: "main", Weight: 50}, route.Replica{ID: "copy", Weight: 49})
	f.servers["main"].fails(errors.New("connection reset"))
	_, _ = f.CallTool(context.Background(), middleware.Call{Tool: deletes})
	for _, tool := range []*middleware.Tool{deletes, unknown} {
		_, err := f.CallTool(context.Background(), middleware.Call{Tool: tool})
		if !errors.Is(err, route.ErrNoReplica) || !middleware.NotSent(err) {
			t.Fatalf("%s: %v", tool, err)
		}
		for _, word := range []string{"main failed and rests", "copy is not a primary (weight 49, below 50)", "try again in"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not say %q", err, word)
			}
		}
		if after, ok := middleware.RetryAfter(err); !ok || after > 5e9 {
			t.Errorf("it may be tried again in %v", after)
		}
	}
	if n := f.servers["copy"].calls.Load(); n != 0 {
		t.Errorf("the copy got %d dangerous calls", n)
	}
	none := newFleet(route.RoundRobin, route.Options{}, route.Replica{ID: "copy"})
	if _, err := none.CallTool(context.Background(), middleware.Call{Tool: deletes}); !middleware.Permanent(err) {
		t.Errorf("waiting does not make a primary: %v", err)
	}
}

func TestComplexAndCostlyGoToHighCompute(t *testing.T) {
	t.Parallel()
	cost := func(c float64) annotation.Annotations { a := annotation.ReadOnly(); a.CostHint = &c; return a }
	complexRead := annotation.ReadOnly()
	complexRead.Complexity = annotation.Complex
	complexDelete := annotation.Destructive()
	complexDelete.Complexity = annotation.Complex
	for name, row := range map[string]struct {
		a    annotation.Annotations
		want string
	}{
		"cost of 101":      {cost(101), "[big]"},
		"cost of 100":      {cost(100), "[big main]"},
		"complex":          {complexRead, "[big]"},
		"complex deletion": {complexDelete, "[main]"}, // safety first: the big one is not a primary
	} {
		f := newFleet(route.RoundRobin, route.Options{},
			route.Replica{ID: "big", Weight: 10, Categories: []string{"high-compute"}}, route.Replica{ID: "main", Weight: 90})
		got, err := f.pool.Candidates(testtool.New("db", "x", row.a))
		if err != nil || fmt.Sprint(got) != row.want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, row.want)
		}
	}
}

func TestWrongPoolsPanicAtOnce(t *testing.T) {
	t.Parallel()
	a := route.Replica{ID: "a", Caller: new(server)}
	used := route.NewPool("db", route.RoundRobin, a)
	route.New(route.Options{}, used)
	for want, f := range map[string]func(){
		"no server":      func() { route.NewPool("", route.RoundRobin, a) },
		"has 0 replicas": func() { route.NewPool("db", route.RoundRobin) },
		"ID of its own":  func() { route.NewPool("db", route.RoundRobin, a, a) },
		"nil Caller":     func() { route.NewPool("db", route.RoundRobin, route.Replica{ID: "a"}) },
		"0 to 100": func() {
			route.NewPool("db", route.RoundRobin, route.Replica{ID: "a", Caller: new(server), Weight: 101})
		},
		"use one of RoundRobin to Affinity": func() { route.NewPool("db", route.Affinity+1, a) },
		"nil pool":                          func() { route.New(route.Options{}, nil) },
		"in use already":                    func() { route.New(route.Options{}, used) },
		"two pools":                         func() { route.New(route.Options{}, route.NewPool("db", 0, a), route.NewPool("db", 0, a)) },
		"Options.Pause is":                  func() { route.New(route.Options{Pause: -1}) },
		"Options.Failures is":               func() { route.New(route.Options{Failures: -1}) },
		"Options.Successes":                 func() { route.New(route.Options{Successes: -1}) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "route: ") || !strings.Contains(got, want) {
					t.Errorf("got %q, want one with %q", got, want)
				}
			}()
			f()
		}()
	}
}
