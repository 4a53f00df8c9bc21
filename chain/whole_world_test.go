package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/preflight/probe"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A world is a host with every slot filled, and the real servers behind it.
type world struct {
	executed executed
	crm      [2]*mcp.Server // the replicas of one server
	tools    *catalog.Catalog
	lock     *pins.Lock
	std      chain.Standard
	caller   middleware.ToolCaller
	person   person
	file     *audit.File
	trail    *audit.Trail
	path     string
	told     overheard
	attempts atCount
	allowed  atCount
	made     int // calls
}

// executed is what the servers of a test did, by "tool arguments".
type executed struct {
	mu   sync.Mutex
	done map[string]int
	all  int
	lame int // calls of get_rate that still fail
}

func (e *executed) add(tool string, arguments json.RawMessage) (lame bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done == nil {
		e.done = make(map[string]int)
	}
	e.done[tool+" "+string(arguments)]++
	e.all++
	if tool == "get_rate" && e.lame > 0 {
		e.lame--
		return true
	}
	return false
}

func (e *executed) read() (map[string]int, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.done), e.all
}

// A person answers as the test sets by the tool's name; other tools are denied.
type person struct {
	mu      sync.Mutex
	answers map[string]hitl.Decision
	asked   []string
}

func (p *person) Confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Tool.Name())
	if r.Tool.Server == "fairlead.verify" {
		return p.answers[r.Tool.Server], nil
	}
	return p.answers[r.Tool.Name()], nil
}

func (p *person) say(tool string, d hitl.Decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers == nil {
		p.answers = make(map[string]hitl.Decision)
	}
	p.answers[tool] = d
}

func (p *person) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

type atCount struct {
	mu sync.Mutex
	n  int
}

func (c *atCount) link(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		c.mu.Lock()
		c.n++
		c.mu.Unlock()
		return next.CallTool(ctx, call)
	})
}

func (c *atCount) read() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// overheard takes the place of telemetry and keeps the record of the last call.
type overheard struct {
	mu   sync.Mutex
	last callstate.Record
}

func (n *overheard) link(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		ctx, said := callstate.Ensure(ctx)
		defer func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.last = said.Record()
		}()
		return next.CallTool(ctx, call)
	})
}

// words returns the decisions as "stage what".
func (n *overheard) words() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, f := range n.last.Decisions {
		out = append(out, f.Stage+" "+f.What)
	}
	return out
}

// serve adds the tools of a server, which all record their calls.
func (w *world) serve(server *mcp.Server, tools ...*mcp.Tool) {
	for _, tool := range tools {
		mcptest.Add(server, tool, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			lame := w.executed.add(tool.Name, arguments)
			switch {
			case lame, tool.Name == "pay":
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the database is away"}
			case tool.Name == "list_orders":
				return mcptest.Text(strings.Repeat("an order and its lines\n", 200)), nil
			}
			return mcptest.Text(tool.Name + " is done"), nil
		})
	}
}

// syncing is a tool that its server classifies before each call.
func syncing(t *testing.T, server *mcp.Server, w *world) {
	t.Helper()
	tool := annotation.Declare(&mcp.Tool{
		Name: "sync", Description: "Does what its mode says.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"mode":{"type":"string"}},"required":["mode"]}`),
	}, annotation.Destructive())
	w.serve(server, tool)
	if err := serve.Resolve(server, serve.Resolvable{
		Tool: tool, Answers: map[string]annotation.Annotations{"look": annotation.ReadOnly()},
		Choose: func(arguments json.RawMessage) string {
			if strings.Contains(string(arguments), `"look"`) {
				return "look"
			}
			return ""
		},
	}); err != nil {
		t.Fatal(err)
	}
}

func plainTool(name, description string) *mcp.Tool { return mcptest.Tool(name, description) }

// newWorld assembles all of it over one transport and revision.
func newWorld(t *testing.T, way func(*testing.T, *mcp.Server) mcp.Transport, version string) *world {
	t.Helper()
	lock := new(pins.Lock)
	w := &world{lock: lock, tools: catalog.New(catalog.Options{
		Lock: lock,
		Permission: func(tool *middleware.Tool) string {
			if tool.Safety() == annotation.Safe {
				return tool.Server + ".read"
			}
			return tool.Server + ".write"
		},
	})}
	t.Cleanup(func() { _ = w.tools.Close() })
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(w.tools, mount.ResolverOptions(nil)))
	sessions := make(map[string]*mcp.ClientSession)
	join := func(id string, server *mcp.Server) *mcp.ClientSession {
		sessions[id] = mcptest.Dial(t, client, mount.Transport(way(t, server)), version)
		return sessions[id]
	}
	var replicas []route.Replica
	for i, id := range []string{"east", "west"} {
		w.crm[i] = mcptest.New()
		w.serve(w.crm[i], plainTool("list_customers", "Lists customers."), plainTool("add_note", "Adds a note."),
			plainTool("delete_customer", "Deletes a customer."), plainTool("get_salary", "Returns a salary."))
		session := join(id, w.crm[i])
		if i == 0 {
			w.add(t, "crm", session)
		}
		r, err := w.tools.Replica(t.Context(), "crm", id, session)
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, route.Replica{ID: id, Weight: 50, Caller: r})
	}
	files := mcptest.New()
	syncing(t, files, w)
	w.serve(files, plainTool("run_query", "Runs a query."), plainTool("list_orders", "Lists orders."), plainTool("get_ticket", "Returns a ticket."))
	w.add(t, "files", join("files", files))
	flaky := mcptest.New()
	w.serve(flaky, plainTool("get_rate", "Returns a rate."), plainTool("pay", "Pays an invoice."))
	w.add(t, "flaky", join("flaky", flaky))
	w.tools.Trust("files")
	if err := w.lock.Accept(w.tools, w.lock.Changes(w.tools)...); err != nil {
		t.Fatal(err)
	}
	audited := annotation.Annotations{AuditRequired: annotation.Yes}
	if err := w.tools.Override("crm", "get_salary", audited); err != nil {
		t.Fatal(err)
	}
	if err := w.tools.Override("files", "sync", annotation.Annotations{Freshness: annotation.Shared}); err != nil {
		t.Fatal(err)
	}
	w.path = filepath.Join(t.TempDir(), "calls.jsonl")
	var err error
	if w.file, err = audit.OpenFile(w.path, nil); err != nil {
		t.Fatal(err)
	}
	w.assemble(mount.Resolver(func(server string) *mcp.ClientSession { return sessions[server] }, client), replicas)
	w.caller = w.std.Then(w.tools)
	return w
}

func (w *world) add(t *testing.T, id string, session *mcp.ClientSession) {
	t.Helper()
	if err := w.tools.Add(t.Context(), id, session); err != nil {
		t.Fatal(err)
	}
}

func (w *world) assemble(resolver preflight.Resolver, replicas []route.Replica) {
	w.trail = audit.New(w.file, audit.Options{})
	judge := preflight.New(preflight.Options{
		Rules:    preflight.Rules{"files/run_query": preflight.Argument("sql", probe.SQL)},
		Resolver: resolver, Trusted: func(server string) bool { return server == "files" },
	})
	w.std = chain.Standard{
		Outermost:  []middleware.Middleware{pass},
		Output:     output.New(output.Options{Limit: 1000}),
		Telemetry:  w.told.link,
		Audit:      w.trail,
		Infer:      infer.New(infer.Options{}),
		Budget:     budget.New(budget.Options{}),
		Preflight:  judge,
		Confirm:    hitl.New(&w.person, hitl.Options{}),
		PerCall:    []middleware.Middleware{w.allowed.link, exploding},
		Cache:      cache.New(cache.Options{Store: cache.NewStore(cache.StoreOptions{})}),
		Retry:      retry.New(retry.Options{Rand: func() float64 { return 0 }}),
		RateLimit:  ratelimit.New(ratelimit.Options{PerMinute: 1e9, Burst: 1e6}),
		PerAttempt: []middleware.Middleware{w.attempts.link},
		Timeout:    timeout.New(timeout.Options{}),
		Route:      route.New(route.Options{}, route.NewPool("crm", route.RoundRobin, replicas...)),
	}
}

// exploding is a middleware of the host's own with a fault.
func exploding(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if strings.Contains(string(call.Arguments), `"explode"`) {
			panic(errors.New("it explodes"))
		}
		return next.CallTool(ctx, call)
	})
}

// A step is one call as the model makes it, and what must come of it.
type step struct {
	tool, arguments string
	says            string         // in what the model reads
	outcome         audit.Outcome  // in the file
	from            string         // likewise
	executed        map[string]int // that this call adds
	asked           int
	notes           []string // of these, in this order; others may be between them
}

// take makes the call and checks its step.
func (w *world) take(t *testing.T, caller middleware.ToolCaller, tool *middleware.Tool, s step) {
	t.Helper()
	before, _ := w.executed.read()
	asked := w.person.count()
	w.made++
	id := fmt.Sprint("call-", w.made)
	res, err := caller.CallTool(mcptest.Context(t), middleware.Call{ID: id, Tool: tool, Arguments: json.RawMessage(s.arguments)})
	if err != nil {
		t.Fatalf("%s %s %s: an error came past output: %v", id, s.tool, s.arguments, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if !strings.Contains(text, s.says) {
		t.Errorf("%s %s %s: the model reads %q, want %q in it", id, s.tool, s.arguments, text, s.says)
	}
	after, _ := w.executed.read()
	for what, n := range after {
		if after[what] = n - before[what]; after[what] == 0 {
			delete(after, what)
		}
	}
	if !maps.Equal(after, s.executed) {
		t.Errorf("%s %s %s: executed %v, want %v", id, s.tool, s.arguments, after, s.executed)
	}
	if got := w.person.count() - asked; got != s.asked {
		t.Errorf("%s %s %s: asked %d times, want %d", id, s.tool, s.arguments, got, s.asked)
	}
	said := w.told.words()
	at := 0
	for _, word := range s.notes {
		i := slices.IndexFunc(said[at:], func(s string) bool { return strings.HasPrefix(s, word) })
		if i < 0 {
			t.Errorf("%s %s %s: the notes are %q, want %q in this order", id, s.tool, s.arguments, said, s.notes)
			break
		}
		at += i + 1
	}
}
