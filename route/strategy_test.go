package route_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestStrategies(t *testing.T) {
	t.Parallel()
	three := func() []route.Replica {
		return []route.Replica{
			{ID: "a", Weight: 70, Categories: []string{"crm"}, Capabilities: []string{"sql", "geo"}},
			{ID: "b", Weight: 20, Categories: []string{"mail", "crm"}, Capabilities: []string{"sql"}},
			{ID: "c", Weight: 10},
		}
	}
	crm, geo := *read, *read
	crm.Annotations.Category = "crm"
	geo.Annotations.Tags = []string{"sql", "geo", "new"}
	for name, row := range map[string]struct {
		strategy route.Strategy
		tool     *middleware.Tool
		want     map[string]int
	}{
		"round-robin":                      {route.RoundRobin, read, map[string]int{"a": 10, "b": 10, "c": 10}},
		"weighted":                         {route.Weighted, read, map[string]int{"a": 21, "b": 6, "c": 3}},
		"least-connections, all idle":      {route.LeastConnections, read, map[string]int{"a": 10, "b": 10, "c": 10}},
		"category":                         {route.Category, &crm, map[string]int{"a": 15, "b": 15}},
		"category of a tool without one":   {route.Category, read, map[string]int{"a": 10, "b": 10, "c": 10}},
		"capability":                       {route.Capability, &geo, map[string]int{"a": 30}},
		"capability of a tool without one": {route.Capability, read, map[string]int{"a": 10, "b": 10, "c": 10}},
	} {
		got := newFleet(row.strategy, route.Options{}, three()...).share(t, row.tool, 30)
		if fmt.Sprint(got) != fmt.Sprint(row.want) {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}

// Under weights the shares come in turns and not in blocks.
func TestWeightedSpreads(t *testing.T) {
	t.Parallel()
	f := newFleet(route.Weighted, route.Options{}, route.Replica{ID: "a", Weight: 50}, route.Replica{ID: "b", Weight: 50})
	run, before := 0, ""
	for range 100 {
		if by := f.served(t, read, ""); by == before {
			run++
		} else {
			run, before = 1, by
		}
		if run > 2 {
			t.Fatalf("%s has %d calls in a row", before, run)
		}
	}
}

func TestLeastConnections(t *testing.T) {
	t.Parallel()
	f := newFleet(route.LeastConnections, route.Options{}, route.Replica{ID: "a"}, route.Replica{ID: "b"})
	entered, leave := make(chan string), make(chan struct{})
	for id, s := range f.servers {
		s.do = func(_ context.Context, call middleware.Call) {
			if call.ID == "held" {
				entered <- id
				<-leave
			}
		}
	}
	var all sync.WaitGroup
	all.Go(func() { _, _ = f.CallTool(context.Background(), middleware.Call{Tool: read, ID: "held"}) })
	busy := <-entered
	for range 10 {
		if by := f.served(t, read, ""); by == busy {
			t.Errorf("%s has a call under way and got another", by)
		}
	}
	close(leave)
	all.Wait()
}

func TestAffinityKeepsAScopeAtItsReplica(t *testing.T) {
	t.Parallel()
	ids := []string{"a", "b", "c", "d"}
	make4 := func(without string) *fleet {
		var replicas []route.Replica
		for _, id := range ids {
			if id != without {
				replicas = append(replicas, route.Replica{ID: id})
			}
		}
		return newFleet(route.Affinity, route.Options{}, replicas...)
	}
	all, fewer := make4(""), make4("c")
	share := make(map[string]int)
	for i := range 1000 {
		scope := fmt.Sprintf("tenant-%d", i)
		home := all.served(t, read, scope)
		share[home]++
		if again := all.served(t, read, scope); again != home {
			t.Fatalf("%s moved from %s to %s", scope, home, again)
		}
		if moved := fewer.served(t, read, scope); home != "c" && moved != home {
			t.Errorf("%s moved from %s to %s when c went", scope, home, moved)
		}
	}
	for _, id := range ids {
		if share[id] < 180 || share[id] > 320 {
			t.Errorf("of 1000 scopes, %v", share)
			break
		}
	}
}

// For any strategy, pool, health and weights: dangerous and unknown calls reach primaries alone.
func TestNoStrategyWalksRoundSafety(t *testing.T) {
	t.Parallel()
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, seed))
	categories := []string{"caching", "high-compute", "crm", ""}
	for range 2000 {
		var replicas []route.Replica
		weights := make(map[string]int)
		for i := range 1 + rnd.IntN(6) {
			id := fmt.Sprint("r", i)
			weights[id] = rnd.IntN(101)
			replicas = append(replicas, route.Replica{
				ID: id, Weight: weights[id], Categories: []string{categories[rnd.IntN(4)]}, Capabilities: []string{"x"},
			})
		}
		f := newFleet(route.Strategy(rnd.IntN(6)), route.Options{Failures: 1}, replicas...)
		for range 10 {
			for _, s := range f.servers {
				if s.recovers(); rnd.IntN(3) == 0 {
					s.fails(fmt.Errorf("down: %w", &middleware.NotSentError{Err: errors.New("refused")}))
				}
			}
			a := []annotation.Annotations{annotation.Destructive(), {}, {RequiresConfirmation: annotation.Yes}}[rnd.IntN(3)]
			a.Category, a.Tags = "crm", []string{"x"}
			a.Idempotent = annotation.Hint(rnd.IntN(3))
			if rnd.IntN(2) == 0 {
				a.Complexity = annotation.Complex
			}
			_, _ = f.CallTool(context.Background(), middleware.Call{Tool: testtool.New("db", "x", a), Scope: fmt.Sprint(rnd.IntN(5))})
		}
		for id, s := range f.servers {
			if weights[id] < 50 && s.calls.Load() > 0 {
				t.Fatalf("seed %d: %s with weight %d got a dangerous call", seed, id, weights[id])
			}
		}
	}
}

// Lists of candidates are made anew for each call, and are small.
func TestPickingCostsLittle(t *testing.T) {
	for s := route.RoundRobin; s <= route.Affinity; s++ {
		f := newFleet(s, route.Options{}, primaryAndReplica()...)
		res := new(mcp.CallToolResult)
		quiet := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return res, nil })
		caller := route.New(route.Options{}, route.NewPool("db", s, route.Replica{ID: "a", Caller: quiet, Weight: 60}, route.Replica{ID: "b", Caller: quiet}))(f)
		ctx, call := context.Background(), middleware.Call{Tool: read, Scope: "ann"}
		if got := testing.AllocsPerRun(100, func() { _, _ = caller.CallTool(ctx, call) }); got > 5 { // 4, and one more under the race detector
			t.Errorf("%v: %v allocations a call, want at most 5", s, got)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	res := new(mcp.CallToolResult)
	quiet := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return res, nil })
	for s := route.RoundRobin; s <= route.Affinity; s++ {
		caller := route.New(route.Options{}, route.NewPool("db", s, route.Replica{ID: "a", Caller: quiet, Weight: 60}, route.Replica{ID: "b", Caller: quiet}))(quiet)
		b.Run(fmt.Sprint(s), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := caller.CallTool(context.Background(), middleware.Call{Tool: read, Scope: "ann"}); got != res || err != nil {
					b.Fatal(got, err)
				}
			}
		})
	}
}
