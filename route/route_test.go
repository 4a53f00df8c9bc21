package route_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
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

func TestOtherServersGoOn(t *testing.T) {
	t.Parallel()
	f := newFleet(route.RoundRobin, route.Options{}, route.Replica{ID: "a"})
	other := *read
	other.Server = "files"
	if by := f.served(t, &other, ""); by != "next" {
		t.Errorf("a call of another server went to %s", by)
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
		if got := described.Plan(tool); got != want {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
}

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
