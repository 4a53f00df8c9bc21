package mount_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
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
	for _, name := range []string{"list_notes", "list_tags", "delete_file", "update_file", "frobnicate"} {
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

var (
	unsaid      annotation.Annotations
	readOnly    = annotation.ReadOnly()
	destructive = annotation.Destructive()
)

// unclassed is a tool of which nothing is known.
func unclassed(t testing.TB, server, name string) *middleware.Tool {
	t.Helper()
	tool, err := middleware.NewTool(server, mcptest.Tool(name, ""), unsaid)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// classed gives a class to tools in front of a session.
func classed(next middleware.ToolCaller) middleware.ToolCaller {
	return infer.New(infer.Options{})(next)
}
