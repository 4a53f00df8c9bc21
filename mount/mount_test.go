package mount_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	mcptest.Main(m, map[string]func() *mcp.Server{
		"files":     func() *mcp.Server { return newBackend().server },
		"resolving": func() *mcp.Server { return newResolving(nil).server },
		"untyped":   func() *mcp.Server { return untypedServer(always(untyped)) },
		"deep":      func() *mcp.Server { return untypedServer(always(withDeep(9000))) },
	})
}

// A backend is a server of a few tools that records what it executes.
type backend struct {
	server *mcp.Server
	mu     sync.Mutex
	calls  []string
}

func newBackend() *backend {
	b := &backend{server: mcptest.New()}
	for _, name := range []string{"list_notes", "delete_file", "update_file", "frobnicate"} {
		mcptest.Add(b.server, mcptest.Tool(name, ""), func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.calls = append(b.calls, name+string(arguments))
			return mcptest.Text(name + string(arguments)), nil
		})
	}
	return b
}

func (b *backend) want(t testing.TB, calls ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if fmt.Sprint(b.calls) != fmt.Sprint(calls) {
		t.Errorf("the server executed %v, want %v", b.calls, calls)
	}
}

// A person answers what hitl asks, and remembers the questions.
type person struct {
	says  hitl.Verdict
	mu    sync.Mutex
	asked []string
}

func (p *person) Confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Tool.String()+string(r.Arguments)+r.Scope)
	return hitl.Decision{Verdict: p.says, Reason: "not today"}, nil
}

func (p *person) want(t testing.TB, asked ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if fmt.Sprint(p.asked) != fmt.Sprint(asked) {
		t.Errorf("asked %v, want %v", p.asked, asked)
	}
}

func text(t testing.TB, res *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func eachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func panics(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// A host that has a session, and neither a catalogue nor anyone to ask.
func ExampleSession() {
	session := connect(newBackend().server) // the MCP Go SDK, as always
	caller := chain.Standard{Infer: infer.New(infer.Options{})}.Then(mount.Session(session))

	for _, name := range []string{"list_notes", "delete_file"} {
		tool, err := middleware.NewTool("files", &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, unsaid)
		if err != nil {
			panic(err)
		}
		res, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// list_notes{}
	// fairlead: files/delete_file was refused: it is dangerous and nobody approved it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads
}

// Code that holds a session gets the chain without a change.
func ExampleClient() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	tools := catalog.New(catalog.Options{})
	safely := chain.Standard{Confirm: hitl.New(nil, hitl.Options{}), Cache: cache.New(cache.Options{})}.Middleware()
	mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "files", safely })

	backend := newBackend()
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := backend.server.Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	session, err := client.Connect(ctx, ours, nil)
	if err != nil {
		panic(err)
	}
	if err := tools.Add(ctx, "files", session); err != nil {
		panic(err)
	}

	for _, name := range []string{"list_notes", "list_notes", "delete_file"} {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name})
		if err != nil {
			fmt.Println("denied:", errors.Is(err, hitl.ErrDenied))
			continue
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	fmt.Println("executed:", backend.calls)
	// Output:
	// list_notes{}
	// list_notes{}
	// denied: true
	// executed: [list_notes{}]
}

func connect(server *mcp.Server) *mcp.ClientSession {
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), theirs, nil); err != nil {
		panic(err)
	}
	session, err := mcptest.NewClient().Connect(context.Background(), ours, nil)
	if err != nil {
		panic(err)
	}
	return session
}

func TestNilIsRefusedAtOnce(t *testing.T) {
	var none *mcp.ClientSession
	chainFor := func(*mcp.ClientSession) (string, middleware.Middleware) { return "", nil }
	client, tools := mcptest.NewClient(), catalog.New(catalog.Options{})
	for name, f := range map[string]func(){
		"nil session":               func() { mount.Session(nil) },
		"session that never was":    func() { mount.Session(none) },
		"nil client":                func() { mount.Client(nil, tools, chainFor) },
		"nil catalogue":             func() { mount.Client(client, nil, chainFor) },
		"no func to choose a chain": func() { mount.Client(client, tools, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			if got := panics(f); !strings.HasPrefix(got, "mount: ") {
				t.Errorf("got the panic %q", got)
			}
		})
	}
}

// sessions are real ones of every kind, of both revisions.
func sessions(t *testing.T, test func(t *testing.T, cs *mcp.ClientSession)) {
	t.Helper()
	for _, version := range mcptest.Versions {
		for name, connect := range map[string]func(t *testing.T) *mcp.ClientSession{
			"memory": func(t *testing.T) *mcp.ClientSession {
				return mcptest.ConnectVersion(t, newBackend().server, nil, version)
			},
			"stdio": func(t *testing.T) *mcp.ClientSession {
				return mcptest.Dial(t, nil, mcptest.ChildTransport(t, "files"), version)
			},
			"HTTP": func(t *testing.T) *mcp.ClientSession {
				cs, _ := mcptest.ConnectHTTP(t, newBackend().server, nil, version)
				return cs
			},
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				test(t, connect(t))
			})
		}
	}
}

func TestSessionWithoutACatalogue(t *testing.T) {
	sessions(t, func(t *testing.T, cs *mcp.ClientSession) {
		yes := &person{says: hitl.Approved}
		guarded := chain.Standard{Infer: infer.New(infer.Options{})}.Then(mount.Session(cs))
		asking := chain.Standard{Infer: infer.New(infer.Options{}), Confirm: hitl.New(yes, hitl.Options{})}.Then(mount.Session(cs))
		bare := mount.Session(cs)
		for _, c := range []struct {
			name         string
			runs, unseen bool // in a chain; where inference never saw it
		}{
			{"list_notes", true, false}, {"update_file", true, false}, {"delete_file", false, false}, {"frobnicate", false, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				call := middleware.Call{Tool: unclassed(t, "files", c.name), Arguments: json.RawMessage(`{"a":1}`)}
				if _, err := guarded.CallTool(mcptest.Context(t), call); (err == nil) != c.runs || err != nil && !errors.Is(err, chain.ErrRefused) {
					t.Errorf("without a person: got %v", err)
				}
				if _, err := bare.CallTool(mcptest.Context(t), call); (err == nil) != c.unseen || err != nil && !errors.Is(err, chain.ErrRefused) {
					t.Errorf("without inference: got %v", err)
				}
				res, err := asking.CallTool(mcptest.Context(t), call)
				if got, want := text(t, res, err), c.name+`{"a":1}`; got != want {
					t.Errorf("with a person: got %q, want %q", got, want)
				}
			})
		}
		yes.want(t, `files/delete_file{"a":1}`, `files/frobnicate{"a":1}`)
	})
}

func TestClassWrittenOnTheCallBuysNothing(t *testing.T) {
	b := newBackend()
	caller := mount.Session(mcptest.Connect(t, b.server, nil))
	tool := unclassed(t, "files", "delete_file")
	tool.Annotations = readOnly
	if _, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: tool}); !errors.Is(err, chain.ErrRefused) {
		t.Errorf("got %v", err)
	}
	b.want(t)
}

func TestDangerousCallRunsOncePerApproval(t *testing.T) {
	b, yes := newBackend(), &person{says: hitl.Approved}
	var inner middleware.ToolCaller
	twice := func(next middleware.ToolCaller) middleware.ToolCaller {
		inner = next
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			if _, err := next.CallTool(ctx, call); err != nil {
				return nil, err
			}
			return inner.CallTool(ctx, call)
		})
	}
	caller := chain.Standard{
		Infer: infer.New(infer.Options{}), Confirm: hitl.New(yes, hitl.Options{}), PerAttempt: []middleware.Middleware{twice},
	}.Then(mount.Session(mcptest.Connect(t, b.server, nil)))
	_, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: unclassed(t, "files", "delete_file")})
	if !errors.Is(err, chain.ErrRefused) {
		t.Errorf("got %v, want the second execution refused", err)
	}
	b.want(t, "delete_file{}")
}

// A mounted is a client with a chain beneath, a session of it, and its surroundings.
type mounted struct {
	*backend
	*person
	client  *mcp.Client
	tools   *catalog.Catalog
	session *mcp.ClientSession
}

func newMounted(t testing.TB, version string, says hitl.Verdict) *mounted {
	t.Helper()
	m := &mounted{backend: newBackend(), person: &person{says: says}, client: mcptest.NewClient(), tools: catalog.New(catalog.Options{})}
	safely := chain.Standard{Confirm: hitl.New(m.person, hitl.Options{}), Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{})}
	mount.Client(m.client, m.tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "files", safely.Middleware() })
	m.session = mcptest.ConnectVersion(t, m.server, m.client, version)
	add(t, m.tools, "files", m.session)
	return m
}

func add(t testing.TB, tools *catalog.Catalog, id string, cs *mcp.ClientSession) {
	t.Helper()
	if err := tools.Add(mcptest.Context(t), id, cs); err != nil {
		t.Fatal(err)
	}
}

func (m *mounted) call(t testing.TB, name string, arguments any) (*mcp.CallToolResult, error) {
	t.Helper()
	return m.session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name, Arguments: arguments})
}
