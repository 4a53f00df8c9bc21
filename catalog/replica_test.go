package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serving returns a server with a read and a deletion that counts what it does.
func serving(about string, calls *atomic.Int64) *mcp.Server {
	s := mcptest.New()
	for _, name := range []string{"get_user", "delete_user"} {
		mcptest.Add(s, mcptest.Tool(name, about), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			calls.Add(1)
			return mcptest.Text("done"), nil
		})
	}
	return s
}

func yes(context.Context, hitl.Request) (hitl.Decision, error) {
	return hitl.Decision{Verdict: hitl.Approved}, nil
}

// A fleet is a catalog with two replicas of one server behind real sockets.
type fleet struct {
	tools  *catalog.Catalog
	caller middleware.ToolCaller
	calls  [2]atomic.Int64
	http   [2]*mcptest.HTTP
	second *catalog.Replica
}

func newFleet(t *testing.T, about string) *fleet {
	t.Helper()
	f := &fleet{tools: catalog.New(catalog.Options{})}
	var replicas []route.Replica
	for i, text := range []string{"Works on users.", about} {
		session, h := mcptest.ConnectHTTP(t, serving(text, &f.calls[i]), nil, mcptest.Modern)
		f.http[i] = h
		if i == 0 {
			if err := f.tools.Add(t.Context(), "db", session); err != nil {
				t.Fatal(err)
			}
		}
		r, err := f.tools.Replica(t.Context(), "db", string(rune('a'+i)), session)
		if err != nil {
			t.Fatal(err)
		}
		f.second = r
		replicas = append(replicas, route.Replica{ID: string(rune('a' + i)), Weight: 100, Caller: r})
	}
	f.caller = chain.Standard{
		Confirm: hitl.New(hitl.ConfirmerFunc(yes), hitl.Options{}),
		Route:   route.New(route.Options{}, route.NewPool("db", route.RoundRobin, replicas...)),
	}.Then(f.tools)
	return f
}

func (f *fleet) call(t *testing.T, name string) error {
	t.Helper()
	tool, ok := f.tools.Lookup("db", name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	_, err := f.caller.CallTool(t.Context(), middleware.Call{Tool: tool})
	return err
}

// A replica that executes and then drops the connection: a dangerous call is not
// sent to the other one, a read is.
func TestNoFailoverOfWhatMayHaveHappened(t *testing.T) {
	t.Parallel()
	for name, wantTotal := range map[string]int64{"get_user": 2, "delete_user": 1} {
		f := newFleet(t, "Works on users.")
		var dropped atomic.Int64
		for i, h := range f.http {
			h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				body, err := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if err != nil || !strings.Contains(string(body), `"tools/call"`) || dropped.Add(1) > 1 {
					return false
				}
				f.calls[i].Add(1) // it was executed, and then
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return true
				}
				_ = conn.Close()
				return true
			})
		}
		err := f.call(t, name)
		_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
		if dangerous := name == "delete_user"; unknown != dangerous || !dangerous && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if total := f.calls[0].Load() + f.calls[1].Load(); total != wantTotal {
			t.Errorf("%s was executed %d times in all, want %d", name, total, wantTotal)
		}
	}
}

// A replica with a different definition does not have the same tool.
func TestReplicaWithAnotherDefinitionGetsNoCall(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "Works on users, and tells somebody.")
	for range 6 {
		for _, name := range []string{"get_user", "delete_user"} {
			if err := f.call(t, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a, b := f.calls[0].Load(), f.calls[1].Load(); a != 12 || b != 0 {
		t.Errorf("calls: a %d, b %d; want 12 and none", a, b)
	}
	tool, _ := f.tools.Lookup("db", "get_user")
	_, err := f.second.CallTool(t.Context(), middleware.Call{Tool: tool})
	if _, ok := errors.AsType[*catalog.ReplicaError](err); !ok || !middleware.NotSent(err) || f.calls[1].Load() != 0 {
		t.Errorf("called directly: %v", err)
	}
}

func TestReplicaIsGuarded(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "Works on users.")
	tool, _ := f.tools.Lookup("db", "delete_user")
	kinder := *tool
	read, _ := f.tools.Lookup("db", "get_user")
	kinder.Annotations = read.Annotations
	for _, tool := range []*middleware.Tool{tool, &kinder} {
		if _, err := f.second.CallTool(t.Context(), middleware.Call{Tool: tool}); !errors.Is(err, chain.ErrRefused) {
			t.Errorf("without an approval: %v", err)
		}
	}
	if n := f.calls[1].Load(); n != 0 {
		t.Errorf("executed %d times", n)
	}
}

// A replica that changes a tool does not have it any more, without being asked.
func TestReplicaThatChangesIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		defer c.Close()
		connect := func() (*mcp.Server, *mcp.ClientSession) {
			s := serving("Works on users.", new(atomic.Int64))
			client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(c, nil))
			return s, mcptest.Dial(t, client, mount.Transport(mcptest.MemoryTransport(t, s)), mcptest.Legacy)
		}
		_, first := connect()
		other, second := connect()
		if err := c.Add(t.Context(), "db", first); err != nil {
			t.Fatal(err)
		}
		r, err := c.Replica(t.Context(), "db", "b", second)
		if err != nil {
			t.Fatal(err)
		}
		tool, _ := c.Lookup("db", "get_user")
		if !r.Offers(tool) {
			t.Fatal("an equal replica does not offer the tool")
		}
		for i := range 50 {
			mcptest.Add(other, mcptest.Tool("get_user", strings.Repeat("x", i+1)), nil)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		if r.Offers(tool) {
			t.Error("after it changed it still offers the tool")
		}
		_ = first.Close()
		_ = second.Close()
	})
}

// Of two lists at once the one that was asked for last counts, however late the other
// comes.
func TestLateListOfAReplicaChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		accepted := mcptest.Tool("get_user", "Works on users.")
		add(t, c, "db", listing(accepted))
		lists := 0
		r, err := c.Replica(t.Context(), "db", "b", &fake{list: func(context.Context, string) (*mcp.ListToolsResult, error) {
			tool := accepted
			switch lists++; lists {
			case 2:
				time.Sleep(5 * time.Second)
			case 3:
				tool = mcptest.Tool("get_user", "Works on users, and tells everybody.")
			}
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool}}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		tool := lookup(t, c, "db", "get_user")
		if !r.Offers(tool) {
			t.Fatal("an equal replica does not offer the tool")
		}
		go func() { _ = r.Refresh(t.Context()) }()
		synctest.Wait()
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if r.Offers(tool) {
			t.Error("the list of before it changed counts")
		}
	})
}

// It may have changed all the same.
func TestReplicaThatCannotListIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		defer c.Close()
		add(t, c, "db", listing(mcptest.Tool("get_user", "")))
		lists := 0
		var peer atomic.Pointer[mcptest.Peer]
		cs := prepared(t, c, func(p *mcptest.Peer, r mcptest.Request) {
			peer.Store(p)
			switch lists++; lists {
			case 1:
				p.Reply(r, mcptest.Tools("", written1("get_user")))
			case 2:
				p.Fail(r, `{"code":-32603,"message":"not now"}`)
			default:
				p.Reply(r, mcptest.Tools(""))
			}
		})
		r, err := c.Replica(t.Context(), "db", "b", cs)
		if err != nil {
			t.Fatal(err)
		}
		tool := lookup(t, c, "db", "get_user")
		if !r.Offers(tool) {
			t.Fatal("an equal replica does not offer the tool")
		}
		peer.Load().Write(listChanged)
		time.Sleep(2 * time.Minute)
		if r.Offers(tool) || lists != 3 {
			t.Errorf("after %d lists it still offers the tool: %t", lists, r.Offers(tool))
		}
	})
}

// A replica with a closed session is asked once.
func TestReplicaThatIsClosedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged strings.Builder
		c := catalog.New(catalog.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		defer c.Close()
		add(t, c, "db", listing(mcptest.Tool("get_user", "")))
		var peer atomic.Pointer[mcptest.Peer]
		cs := prepared(t, c, func(p *mcptest.Peer, r mcptest.Request) {
			peer.Store(p)
			p.Reply(r, mcptest.Tools("", written1("get_user")))
		})
		r, err := c.Replica(t.Context(), "db", "b", cs)
		if err != nil {
			t.Fatal(err)
		}
		peer.Load().Write(listChanged)
		peer.Load().Hangup()
		time.Sleep(time.Hour)
		_ = c.Close()
		if n := strings.Count(logged.String(), "a replica could not list"); n != 1 || !strings.Contains(logged.String(), "the server is gone") {
			t.Errorf("%d lists failed in an hour, want one: %s", n, logged.String())
		}
		_ = r.Offers(nil) // it is there to the end
	})
}

// A host that connects to a replica again and again makes one each time.
func TestUnusedReplicaIsForgotten(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	add(t, c, "db", listing(mcptest.Tool("get_user", "")))
	session := func() weak.Pointer[fake] {
		s := listing(mcptest.Tool("get_user", ""))
		if _, err := c.Replica(t.Context(), "db", "b", s); err != nil {
			t.Fatal(err)
		}
		return weak.Make(s)
	}()
	for range 3 {
		runtime.GC()
	}
	if session.Value() != nil {
		t.Error("its session is held for ever")
	}
	runtime.KeepAlive(c)
}

func TestReplicaNeedsASessionAndAServer(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	session := mcptest.Connect(t, serving("", new(atomic.Int64)), nil)
	for want, s := range map[string]catalog.Session{"session is nil": nil, `no server "db"`: session, "connect first": (*mcp.ClientSession)(nil)} {
		if _, err := c.Replica(t.Context(), "db", "b", s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want one that says %q", err, want)
		}
	}
	if err := c.Add(t.Context(), "db", session); err != nil {
		t.Fatal(err)
	}
	dead := mcptest.Connect(t, serving("", new(atomic.Int64)), nil)
	_ = dead.Close()
	r, err := c.Replica(t.Context(), "db", "dead", dead)
	tool, _ := c.Lookup("db", "get_user")
	if err == nil || r.Offers(tool) {
		t.Errorf("a replica that cannot list offers a tool: %v", err)
	}
}
