package route_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server is a replica that notes its calls and answers with its name.
type server struct {
	name  string
	calls atomic.Int64
	fail  atomic.Pointer[error]
	do    func(ctx context.Context, call middleware.Call)
}

func (s *server) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	s.calls.Add(1)
	if s.do != nil {
		s.do(ctx, call)
	}
	if err := s.fail.Load(); err != nil {
		return nil, *err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s.name}}}, nil
}

func (s *server) fails(err error) { s.fail.Store(&err) }
func (s *server) recovers()       { s.fail.Store(nil) }

var (
	read    = testtool.New("db", "query_users", annotation.ReadOnly())
	adds    = testtool.New("db", "add_user", annotation.Write())
	sets    = testtool.New("db", "set_user", annotation.Update())
	deletes = testtool.New("db", "delete_user", annotation.Destructive())
	unknown = testtool.New("db", "frobnicate", annotation.Annotations{})
)

// fleet is a pool with replicas that are servers of the same names.
type fleet struct {
	middleware.ToolCaller
	pool    *route.Pool
	servers map[string]*server
}

func newFleet(s route.Strategy, o route.Options, replicas ...route.Replica) *fleet {
	f := &fleet{servers: make(map[string]*server)}
	for i, r := range replicas {
		f.servers[r.ID] = &server{name: r.ID}
		replicas[i].Caller = f.servers[r.ID]
	}
	f.pool = route.NewPool("db", s, replicas...)
	f.ToolCaller = route.New(o, f.pool)(&server{name: "next"})
	return f
}

// served calls the tool and returns the replica that answered.
func (f *fleet) served(tb testing.TB, tool *middleware.Tool, scope string) string {
	tb.Helper()
	res, err := f.CallTool(context.Background(), middleware.Call{Tool: tool, Scope: scope})
	if err != nil {
		tb.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func (f *fleet) share(tb testing.TB, tool *middleware.Tool, calls int) map[string]int {
	tb.Helper()
	got := make(map[string]int)
	for range calls {
		got[f.served(tb, tool, "")]++
	}
	return got
}

func primaryAndReplica() []route.Replica {
	return []route.Replica{
		{ID: "primary-db", Weight: 80, Categories: []string{"database", "caching"}},
		{ID: "replica-db", Weight: 20, Categories: []string{"database"}},
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
		"complex deletion": {complexDelete, "[main]"}, // safety first: the big one is no primary
	} {
		f := newFleet(route.RoundRobin, route.Options{},
			route.Replica{ID: "big", Weight: 10, Categories: []string{"high-compute"}}, route.Replica{ID: "main", Weight: 90})
		got, err := f.pool.Candidates(testtool.New("db", "x", row.a))
		if err != nil || fmt.Sprint(got) != row.want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, row.want)
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
		for _, word := range []string{"main failed and rests", "copy is no primary (weight 49, below 50)", "try again in"} {
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

func TestOtherServersGoOn(t *testing.T) {
	t.Parallel()
	f := newFleet(route.RoundRobin, route.Options{}, route.Replica{ID: "a"})
	other := *read
	other.Server = "files"
	if by := f.served(t, &other, ""); by != "next" {
		t.Errorf("a call of another server went to %s", by)
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

func TestRouteIsAGoodCitizen(t *testing.T) {
	middlewaretest.Run(t, func(next middleware.ToolCaller) middleware.ToolCaller {
		return route.New(route.Options{})(next)
	})
}

func TestReplicaIsAGoodCitizensNext(t *testing.T) {
	middlewaretest.Run(t, func(next middleware.ToolCaller) middleware.ToolCaller {
		return route.New(route.Options{}, route.NewPool("kit", route.RoundRobin, route.Replica{ID: "only", Caller: next, Weight: 100}))(next)
	})
}

func TestDescriptionNamesTheReplicas(t *testing.T) {
	t.Parallel()
	f := newFleet(route.RoundRobin, route.Options{}, primaryAndReplica()...)
	described := f.ToolCaller.(middleware.Describer).Describe()
	other := *read
	other.Server = "files"
	for tool, want := range map[*middleware.Tool]string{read: "any replica", adds: "one replica", deletes: "primary only", unknown: "primary only", &other: ""} {
		if got := described.Will(tool); got != want {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
}
