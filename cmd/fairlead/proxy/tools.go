package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/mount"
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

// A set is what a client may see of a catalogue, with the chain in front of it.
type set struct {
	viewer

	plan    *plan
	catalog *catalog.Catalog
	granted *catalog.View // what the caller's token covers; nil is everything
	caller  middleware.ToolCaller
	added   map[*server]bool
	last    map[*server]*listing // the latest of each
}

// A viewer is what a catalogue shows of itself: a catalogue, or a part of one.
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
	if cursor := members(m.Params)["cursor"]; cursor != nil && string(cursor) != "null" {
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
	refuse := now.refusing()
	result := make(map[string]any)
	all := []any{}
	for _, one := range s.servers {
		one.tools.mu.Lock()
		for key, value := range one.tools.rest {
			result[key] = value
		}
		for _, name := range one.tools.order {
			if tool, ok := now.Lookup(one.Name, name); ok && refuse(tool) == nil {
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

func (s *server) ListTools(ctx context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	answer, err := s.exchange(ctx, nil, methodListTools, s.session.withMeta(p), underWayIn(ctx).about)
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
	_ = json.Unmarshal(all["tools"], &tools) // what cannot be read is not in the catalogue either
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

func (t *toolsOf) schema(tool string) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return members(t.written[tool])["inputSchema"]
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

// recordRefusal records a call that was refused before the chain, by the name that the client gave if
// the tool is unknown.
func (s *session) recordRefusal(ctx context.Context, m *message, name string, tool *middleware.Tool, err error) {
	if s.proxy.trail == nil {
		return
	}
	if tool == nil {
		tool = &middleware.Tool{Definition: &mcp.Tool{Name: name}}
		if len(s.servers) == 1 {
			tool.Server = s.servers[0].Name
		}
	}
	_, _ = s.proxy.trail.Record(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, err
	})).CallTool(ctx, middleware.Call{ID: m.id(), Scope: s.scope, Tool: tool})
}

// A refusal ends a call without a question to a person.
type refusal struct {
	error

	told  string // to the model
	by    string // where it is decided
	later bool   // the same call may be taken later
}

func (e *refusal) Unwrap() error     { return e.error }
func (e *refusal) ForModel() string  { return e.told }
func (e *refusal) RefusedBy() string { return e.by }
func (e *refusal) NotSent() bool     { return true }
func (e *refusal) Permanent() bool   { return !e.later }

// invalid refuses a call that two readers could take for different ones, or that names no tool.
func invalid(text string) error {
	return &refusal{error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}, by: "proxy"}
}

// A listing is one server's list of tools on its way into a set. It outlives the calls that wait.
type listing struct {
	begun, ended bool          // both under the lock
	over         chan struct{} // closed when it has ended
	err          error         // set before
}

// current returns the set of the policy as it is now; the lock is held.
func (t *tools) current() (*set, error) {
	plan := t.session.proxy.plan()
	if t.now != nil && t.now.plan == plan {
		return t.now, nil
	}
	fresh, err := plan.newSet(t.session.caller)
	if err != nil {
		return nil, err
	}
	if old := t.now; old != nil {
		t.before = append(t.before, weak.Make(old.catalog))
		t.session.calls.Go(func() { _ = old.catalog.Close() }) // it waits for a list that is under way
	}
	t.now = fresh
	return fresh, nil
}

// set returns the current set with every server listed, or every one that is not late. The servers
// are asked again if always is set or their list is stale.
func (t *tools) set(ctx context.Context, always bool, about string) (*set, error) {
	for {
		t.mu.Lock()
		now, err := t.current()
		if err != nil {
			t.mu.Unlock()
			return nil, err
		}
		under := make([]*listing, len(t.session.servers))
		for i, s := range t.session.servers {
			under[i] = t.list(now, s, always, about)
		}
		t.mu.Unlock()
		errs := t.wait(ctx, under)
		if ctx.Err() != nil {
			return nil, &middleware.NotSentError{Err: context.Cause(ctx)}
		}
		err = none(errs)
		if !errors.Is(err, catalog.ErrClosed) || t.session.ctx.Err() != nil {
			return now, err
		}
	}
}

// list has a server asked for its tools if needed, and returns what to wait for. The lock is held.
func (t *tools) list(now *set, s *server, always bool, about string) *listing {
	last := now.last[s]
	under := last != nil && !last.ended
	stale := s.tools.stale.Load()
	switch {
	case now.added[s] && !always && !under && !stale:
		return nil
	case under && (!last.begun || !stale && (!always || s.isLate())):
		return last
	case !under:
		last = nil
	}
	l := &listing{over: make(chan struct{})}
	now.last[s] = l
	t.session.calls.Go(func() {
		if last != nil { // what was asked for earlier may be older than the question, or than an announcement
			<-last.over
		}
		t.run(now, s, l, about)
	})
	return l
}

func (t *tools) run(now *set, s *server, l *listing, about string) {
	t.mu.Lock()
	l.begun = true
	added := now.added[s]
	stale := s.tools.stale.Swap(false)
	t.mu.Unlock()
	ctx := context.WithValue(t.session.ctx, underWayKey{}, &underWay{about: about})
	var err error
	if added {
		err = now.catalog.Refresh(ctx, s.Name)
	} else {
		err = now.catalog.Add(ctx, s.Name, s)
	}
	t.mu.Lock()
	if err == nil {
		now.added[s] = true
	} else if stale {
		s.tools.stale.Store(true)
	}
	l.err, l.ended = err, true
	close(l.over)
	close(t.ended)
	t.ended = make(chan struct{})
	t.mu.Unlock()
	if err == nil {
		s.here("tools")
	}
}

// wait waits for servers to be listed, and returns what came of it: for one of several not long, and for one that was
// late already not at all, as long as another is there. The client is notified later of servers that are away.
func (t *tools) wait(ctx context.Context, under []*listing) []error {
	servers, within := t.session.servers, ctx
	if len(servers) > 1 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, t.session.proxy.late)
		defer cancel()
	}
	for {
		t.mu.Lock()
		errs, early := make([]error, len(under)), false
		for i, l := range under {
			switch {
			case l != nil && l.ended:
				errs[i] = l.err
			case l != nil:
				errs[i] = errLate
				early = early || within.Err() == nil && !servers[i].isLate()
			}
		}
		if ctx.Err() != nil || !slices.Contains(errs, errLate) || !early && slices.Contains(errs, nil) {
			defer t.mu.Unlock() // so that a listing ends before or after
			for i, err := range errs {
				if err != nil && len(servers) > 1 && ctx.Err() == nil && !unknownMethod(err) {
					servers[i].without("tools", err)
				}
			}
			return errs
		}
		ended, over := t.ended, within.Done()
		t.mu.Unlock()
		if !early {
			over = ctx.Done()
		}
		select {
		case <-ended:
		case <-over:
		}
	}
}

// find returns the tool that the client calls by this name.
func (t *tools) find(ctx context.Context, name, about string) (*set, *middleware.Tool, error) {
	now, tool, err := t.known(ctx, name, about)
	for _, always := range []bool{false, true} {
		if tool != nil || err != nil || always && !t.mayAskAgain() { // it may be new: not every client takes notifications
			break
		}
		if now, err = t.set(ctx, always, about); err == nil {
			tool = t.session.named(now, name)
		}
	}
	if tool != nil && err == nil {
		err = now.refusing()(tool)
	}
	if tool != nil || err != nil {
		return now, tool, err
	}
	servers := t.session.servers
	for _, s := range servers {
		if s.isLate() && strings.HasPrefix(name, prefixed(s.Name, "")) {
			return now, nil, &refusal{
				error: fmt.Errorf("proxy: %q was not called: the server %q is not there so far; its tools are listed when it is", name, s.Name),
				told:  name + " was not called: its server is not there at the moment. Nothing has happened. Tell the user, or go on without it.",
				by:    "proxy", later: true,
			}
		}
	}
	for _, c := range t.session.proxy.o.Lock.Changes(now.catalog) {
		if len(servers) == 1 && c.Tool == name || prefixed(c.Server, c.Tool) == name {
			return now, nil, &pins.NotAcceptedError{Change: c}
		}
	}
	return now, nil, invalid(fmt.Sprintf("unknown tool %q", name))
}

// known finds a tool that was listed, whatever the other servers do. Its own server is asked first if
// its list is stale.
func (t *tools) known(ctx context.Context, name, about string) (*set, *middleware.Tool, error) {
	t.mu.Lock()
	now, err := t.current()
	if err != nil {
		t.mu.Unlock()
		return nil, nil, err
	}
	tool := t.session.named(now, name)
	var l *listing
	for _, s := range t.session.servers {
		if tool != nil && s.Name == tool.Server {
			l = t.list(now, s, false, about)
		}
	}
	t.mu.Unlock()
	if l == nil {
		return now, tool, nil
	}
	select {
	case <-l.over:
		if l.err != nil {
			return nil, nil, l.err
		}
		return now, t.session.named(now, name), nil
	case <-ctx.Done():
		return nil, nil, &middleware.NotSentError{Err: context.Cause(ctx)}
	}
}

// declaredKey is the member of a tool's _meta with what its server declared, if the proxy annotates.
const declaredKey = "io.github.fairlead-go/declared"

// annotated is a definition with the hints that count here in the place of those that its server declared, which
// stay readable under declaredKey. MCP's four are never less strict than the class: what is dangerous or unknown
// is destructive, whatever makes it so, since MCP has no other hint for it.
func annotated(written json.RawMessage, tool *middleware.Tool) json.RawMessage {
	a, class := tool.Annotations, tool.Safety()
	asks := class.MustConfirm()
	plain := &mcp.ToolAnnotations{
		Title: a.Title, ReadOnlyHint: class == annotation.Safe, DestructiveHint: &asks, IdempotentHint: a.SafeToRetry(),
	}
	if a.OpenWorld != annotation.Unset {
		plain.OpenWorldHint = new(a.OpenWorld == annotation.Yes)
	}
	if asks {
		a.RequiresConfirmation = annotation.Yes
	}
	if class == annotation.Safe {
		a.Freshness = a.Defaults().Freshness
	}
	own := withMember(withMember(encoded(a), "class", class), "evidence", append([]annotation.Evidence{}, a.Evidence...))
	definition := members(written)
	declared := make(map[string]json.RawMessage)
	if said := definition["annotations"]; said != nil {
		declared["annotations"] = said
	}
	if said := members(definition["_meta"])[annotation.MetaKey]; said != nil {
		declared["_meta"] = said
	}
	meta := withMember(withMember(definition["_meta"], annotation.MetaKey, own), declaredKey, declared)
	definition["annotations"], definition["_meta"] = encoded(plain), encoded(meta)
	return encoded(definition)
}
