package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"
	"weak"

	"github.com/fairlead-go/fairlead/annotation"
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
	reviews *reviews           // of a [Host]; nil otherwise
	hosted  map[string]*hosted // of a [Host], by server
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

// toolsOf is what one server lists, as it wrote it. A client gets the text of a tool only if the definition that was
// read from it is the one that the catalog accepted: a list may end in an error after its first page.
type toolsOf struct {
	stale atomic.Bool // it has said that its list has changed

	mu       sync.Mutex
	written  map[middleware.Digest]unique.Handle[string] // by the digest of what was read; the process has equal ones once
	accepted pages
	earlier  pages // that accepted took the place of
	latest   pages // which may not be accepted yet
}

// pages are what is left of a list without the texts of its tools.
type pages struct {
	order   []string // names
	digests []middleware.Digest
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
		if its, ok := now.Lookup(s.servers[0].Name, name); ok {
			called := *its
			called.Called, tool = name, &called // the model has its name without the server
		}
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
		order, rest := one.tools.listed()
		for key, value := range rest {
			result[key] = value
		}
		seen := make(map[string]bool, len(order))
		for _, t := range now.catalog.List() { // those that another list has added come last
			if t.Server == one.Name {
				order = append(order, t.Name())
			}
		}
		for _, name := range order {
			if tool, ok := now.Lookup(one.Name, name); ok && !seen[name] && now.hide(context.Background(), policy, tool) == nil {
				all = append(all, s.definition(now, tool, one.tools.text(tool.Digest)))
			}
			seen[name] = true
		}
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
	list, res := mount.RawList(ctx, answer.Result), new(mcp.ListToolsResult)
	if err := json.Unmarshal(list, res); err != nil {
		return nil, fmt.Errorf("proxy: the list of tools of %q cannot be read: %w", s.Name, err)
	}
	s.tools.keep(s.Name, answer.Result, list, res, p == nil || p.Cursor == "")
	return res, nil
}

// withMeta are params that say of the client what its requests say.
func (s *session) withMeta(p any) json.RawMessage {
	if meta := s.meta.value(); meta != nil {
		return withMember(encoded(p), "_meta", meta)
	}
	return encoded(p)
}

// keep takes a page of a server's list: as it was written, what can be read of it, and what was read.
func (t *toolsOf) keep(server string, page, readable json.RawMessage, res *mcp.ListToolsResult, first bool) {
	var texts []json.RawMessage
	if json.Unmarshal(member(readable, "tools"), &texts) != nil || len(texts) != len(res.Tools) {
		texts = nil
	}
	rest := members(page)
	delete(rest, "tools")
	delete(rest, "nextCursor")
	for name, value := range rest {
		rest[name] = bytes.Clone(value) // or it would keep the page
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first {
		t.keepOnly(t.accepted, t.earlier) // a list that fails again and again has other texts each time
		t.latest = pages{}
	}
	t.latest.rest = rest
	for i, text := range texts {
		if res.Tools[i] == nil {
			continue
		}
		mount.KeepDefinitionDigits(res.Tools[i], text)
		read, err := middleware.NewTool(server, res.Tools[i], annotation.Annotations{})
		if err != nil { // the catalog refuses it as well
			continue
		}
		if t.written == nil {
			t.written = make(map[middleware.Digest]unique.Handle[string])
		}
		t.written[read.Digest] = unique.Make(string(text))
		t.latest.order, t.latest.digests = append(t.latest.order, read.Name()), append(t.latest.digests, read.Digest)
	}
}

// accept makes the latest list the one that clients get. The texts of the one before are kept, for calls under way.
func (t *toolsOf) accept() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keepOnly(t.accepted, t.latest)
	t.earlier, t.accepted = t.accepted, t.latest
}

// keepOnly drops the texts that are in neither list. The mutex is held.
func (t *toolsOf) keepOnly(one, other pages) {
	kept := make(map[middleware.Digest]unique.Handle[string])
	for _, d := range slices.Concat(one.digests, other.digests) {
		if text, ok := t.written[d]; ok {
			kept[d] = text
		}
	}
	t.written = kept
}

// listed returns the names of the accepted list in its order, and the list's other members.
func (t *toolsOf) listed() (order []string, rest map[string]json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.accepted.order), t.accepted.rest
}

// text returns how the server wrote a definition, nil if it is not known.
func (t *toolsOf) text(d middleware.Digest) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, ok := t.written[d]
	if !ok {
		return nil
	}
	return json.RawMessage(text.Value())
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
