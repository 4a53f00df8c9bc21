package pins_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A pinned catalog has a lock.
type pinned struct {
	*catalog.Catalog

	lock *pins.Lock
}

func pinnedBy(l *pins.Lock) pinned { return pinned{catalog.New(catalog.Options{Lock: l}), l} }

// locked is a catalog that refuses what was not accepted.
func locked() pinned { return pinnedBy(new(pins.Lock)) }

func (c pinned) Changes() []pins.Change              { return c.lock.Changes(c) }
func (c pinned) Accept(changes ...pins.Change) error { return c.lock.Accept(c, changes...) }

func accept(t testing.TB, c pinned) {
	t.Helper()
	if err := c.Accept(c.Changes()...); err != nil {
		t.Fatal(err)
	}
	if got := c.Changes(); len(got) != 0 {
		t.Fatalf("still to accept: %v", got)
	}
}

func add(t testing.TB, c pinned, id string, s catalog.Session) {
	t.Helper()
	if err := c.Add(mcptest.Context(t), id, s); err != nil {
		t.Fatal(err)
	}
}

func refresh(t testing.TB, c pinned, id string) {
	t.Helper()
	if err := c.Refresh(mcptest.Context(t), id); err != nil {
		t.Fatal(err)
	}
}

func names(c pinned) []string {
	got := make([]string, 0, len(c.List()))
	for _, tool := range c.List() {
		got = append(got, tool.String())
	}
	return got
}

func lookup(t testing.TB, c pinned, server, tool string) *middleware.Tool {
	t.Helper()
	got, ok := c.Lookup(server, tool)
	if !ok {
		t.Fatalf("there is no %s/%s among %v", server, tool, names(c))
	}
	return got
}

// finding checks that one finding contains all the words.
func finding(t testing.TB, c pinned, words ...string) {
	t.Helper()
	found := 0
	for _, f := range c.Findings() {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(f.String(), w) }) {
			found++
		}
	}
	if found != 1 {
		t.Errorf("got %d findings with %q, want 1; all: %v", found, words, c.Findings())
	}
}

func view(t testing.TB, c pinned, scope string) *catalog.View {
	t.Helper()
	v, err := c.View(catalog.Scope{Permission: scope})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A fake is a session with the lists that the test sets.
type fake struct{ list func() []*mcp.Tool }

func (f *fake) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: f.list()}, nil
}

func (*fake) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return mcptest.Text("done"), nil
}

func listing(tools ...*mcp.Tool) *fake { return &fake{func() []*mcp.Tool { return tools }} }

// A ledger is a server that counts its executions; its tools can change.
type ledger struct {
	server *mcp.Server
	ran    atomic.Int32
}

func newLedger(tools ...*mcp.Tool) *ledger {
	l := &ledger{server: mcptest.New()}
	for _, tool := range tools {
		l.set(tool)
	}
	return l
}

func (l *ledger) set(tool *mcp.Tool) {
	mcptest.Add(l.server, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		l.ran.Add(1)
		return mcptest.Text("done"), nil
	})
}

func (l *ledger) want(t testing.TB, ran int32) {
	t.Helper()
	if got := l.ran.Load(); got != ran {
		t.Errorf("the server executed %d calls, want %d", got, ran)
	}
}

// agree returns a context with a person's approval of the call.
func agree(t testing.TB, call middleware.Call) context.Context {
	t.Helper()
	ctx, g := callstate.WithGrant(mcptest.Context(t), &call, annotation.Dangerous, time.Minute, nil)
	t.Cleanup(g.Void)
	return ctx
}
