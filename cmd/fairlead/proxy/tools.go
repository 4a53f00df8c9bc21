package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools are the tools of a session's servers, listed when they are first wanted.
type tools struct {
	session *session

	mu    sync.Mutex
	ended chan struct{} // closed at the end of each listing, and made anew
	now   *set
	// before are the catalogs of earlier policies, which calls that wait for a person may still use.
	before []weak.Pointer[catalog.Catalog]
	asked  time.Time // because of an unknown name
}

// A set is what a client may see of a catalog, with the chain in front of it.
type set struct {
	viewer

	plan    *plan
	catalog *catalog.Catalog
	granted *catalog.View // what the caller's token covers; nil is everything
	caller  middleware.ToolCaller
	added   map[*server]bool
	last    map[*server]*listing // the latest of each
}

// A viewer is what a catalog shows of itself: a catalog, or a part of one.
type viewer interface {
	middleware.ToolCaller
	chain.Admitter
	middleware.Describer
	Lookup(server, tool string) (*middleware.Tool, bool)
	Find(name string) (*middleware.Tool, error)
}

// toolsOf is what one server last listed, as it wrote it.
type toolsOf struct {
	stale atomic.Bool // it has said that its list has changed

	mu      sync.Mutex
	written map[string]json.RawMessage
	order   []string
	rest    map[string]json.RawMessage // the other members of the list
}

func (t *tools) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now != nil {
		_ = t.now.catalog.Close() // it has nothing to say
	}
}

// askAgain is how often the servers are asked again because of an unknown name.
const askAgain = time.Second

// mayAskAgain reports whether the servers may be asked again now, and counts it.
func (t *tools) mayAskAgain() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.asked) < askAgain {
		return false
	}
	t.asked = time.Now()
	return true
}

// named returns the tool that has this name at the client, nil if there is none.
func (s *session) named(now *set, name string) *middleware.Tool {
	var tool *middleware.Tool
	if len(s.servers) == 1 {
		tool, _ = now.Lookup(s.servers[0].Name, name)
	} else if t, err := now.Find(name); err == nil && t.ModelName() == name {
		tool = t
	}
	if tool == nil || !now.covers(tool) {
		return nil
	}
	return tool
}

// listTools answers tools/list: with what may be called, on one page.
func (s *session) listTools(ctx context.Context, m *message) (*message, bool) {
	if cursor := member(m.Params, "cursor"); cursor != nil && string(cursor) != "null" {
		return m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "proxy: there is one page of tools; list them without a cursor"}), true
	}
	now, err := s.tools.set(ctx, true, m.id())
	if err != nil {
		return m.failTo(wireError(err)), true
	}
	return m.resultTo(s.listed(now)), true
}

// listed is the client's list: in the servers' order, and in their words if those were accepted.
func (s *session) listed(now *set) map[string]any {
	policy := s.proxy.o.Policy() // one for the whole list
	result := make(map[string]any)
	all := []any{}
	for _, one := range s.servers {
		one.tools.mu.Lock()
		for key, value := range one.tools.rest {
			result[key] = value
		}
		for _, name := range one.tools.order {
			if tool, ok := now.Lookup(one.Name, name); ok && now.hide(context.Background(), policy, tool) == nil {
				all = append(all, s.definition(now, tool, one.tools.written[name]))
			}
		}
		one.tools.mu.Unlock()
	}
	result["tools"] = all
	if (now.plan.scoped() || s.caller.Limited) && result["cacheScope"] != nil {
		result["cacheScope"] = "private"
	}
	return result
}

// definition is a tool as the client sees it: if definitions are pinned, only what the pin covers.
func (s *session) definition(now *set, tool *middleware.Tool, written json.RawMessage) json.RawMessage {
	if s.proxy.o.Lock != nil || written == nil {
		written = encoded(tool.Definition)
	}
	if s.proxy.o.Annotate {
		written = annotated(written, now.plan.policy.Raised(tool))
	}
	if len(s.servers) == 1 {
		return written
	}
	return withMember(written, "name", tool.ModelName())
}

// ListTools lists a page of the server's tools, for the catalog, and keeps them as they were written.
func (s *server) ListTools(ctx context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	answer, err := s.exchangeAgain(ctx, methodListTools, s.session.withMeta(p), underWayIn(ctx).about)
	if err != nil {
		return nil, err
	}
	s.tools.keep(answer.Result, p == nil || p.Cursor == "")
	res := new(mcp.ListToolsResult)
	if err := json.Unmarshal(mount.RawList(ctx, answer.Result), res); err != nil {
		return nil, fmt.Errorf("proxy: the list of tools of %q cannot be read: %w", s.Name, err)
	}
	return res, nil
}

// withMeta are params that say of the client what its requests say.
func (s *session) withMeta(p any) json.RawMessage {
	if meta := s.meta.value(); meta != nil {
		return withMember(encoded(p), "_meta", meta)
	}
	return encoded(p)
}

// keep remembers how a server writes its tools.
func (t *toolsOf) keep(list json.RawMessage, first bool) {
	all := members(list)
	var tools []json.RawMessage
	_ = json.Unmarshal(all["tools"], &tools) // what cannot be read is not in the catalog either
	t.mu.Lock()
	defer t.mu.Unlock()
	if first {
		t.written, t.order = make(map[string]json.RawMessage), nil
	}
	delete(all, "tools")
	delete(all, "nextCursor")
	t.rest = all
	for _, tool := range tools {
		name := textOf(tool, "name")
		if _, twice := t.written[name]; !twice {
			t.order = append(t.order, name)
		}
		t.written[name] = tool
	}
}

// schema returns the input schema of a tool as the server wrote it.
func (t *toolsOf) schema(tool string) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return member(t.written[tool], "inputSchema")
}

// announced has the next call read a server's list again, and approved calls of its tools wait for it.
func (t *tools) announced(s *server) {
	s.tools.stale.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now != nil {
		t.now.catalog.Changed(s)
	}
	for _, before := range t.before {
		if c := before.Value(); c != nil {
			c.Changed(s)
		}
	}
}
