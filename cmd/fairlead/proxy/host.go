package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Host takes calls of tools that no server of the proxy executes, such as those that a coding agent has of its own,
// through the chain of the policy. Nothing is answered from the cache, sent again, or given up after a time, since
// another program executes the calls and they cannot be made in its place. It is safe for concurrent use.
type Host struct {
	proxy   *Proxy
	execute middleware.ToolCaller
	early   bool // intents are recorded before a person is asked

	mu    sync.Mutex
	known map[string]bool
	tools map[string][]Hosted // by server
	set   *set                // nil until the first call, and of an earlier policy at times
}

// A Hosted is a tool of a Host.
type Hosted struct {
	Definition *mcp.Tool
	// Annotations are what is known of the tool; the zero value leaves it to inference.
	Annotations annotation.Annotations
	// Lock has the reviews that count for the definition; nil has none.
	Lock *pins.Lock
}

// is reports whether another one is the same tool with the same definition.
func (t Hosted) is(other Hosted) bool {
	return t.Lock == other.Lock && reflect.DeepEqual(t.Definition, other.Definition) && reflect.DeepEqual(t.Annotations, other.Annotations)
}

// reviews are the locks of the tools of a host by "server/tool", as a [catalog.Lock] that holds nothing back, since
// no server lists its tools here.
type reviews struct{ sync.Map }

// Check implements [catalog.Lock].
func (*reviews) Check(*middleware.Tool, []byte) error { return nil }

// Accepted implements [catalog.Lock].
func (*reviews) Accepted(string) []string { return nil }

// Decided implements [catalog.Lock].
func (r *reviews) Decided(tool *middleware.Tool) (word, claim annotation.Annotations) {
	lock, _ := r.Load(tool.String())
	of, _ := lock.(*pins.Lock)
	return of.Decided(tool)
}

// Host returns a host whose calls are executed by a caller, which stands behind the guard. Early is for a person who
// approves in a dialog of the program that then executes the call: the intent is recorded before the question, since it
// would come too late between the answer and the call.
func (p *Proxy) Host(execute middleware.ToolCaller, early bool) *Host {
	return &Host{proxy: p, execute: execute, early: early, known: make(map[string]bool), tools: make(map[string][]Hosted)}
}

// Call takes a call of a tool through the chain. The tool is added if it is new, or is defined anew. Called is the name
// that the model has for it, and the call's scope is the session that it belongs to.
func (h *Host) Call(ctx context.Context, server string, tool Hosted, called string, call middleware.Call) (*mcp.CallToolResult, error) {
	set, found, err := h.find(server, tool)
	if err != nil {
		return nil, err
	}
	its := *found
	its.Called, call.Tool = called, &its
	return set.caller.CallTool(ctx, call)
}

// User takes in a message that the user wrote in a session, see [flow.Tracker.User].
func (h *Host) User(scope, words string) { h.proxy.tracker.User(scope, words) }

// Known takes in words of the host, such as the name of a folder, once each: no text of users or tools.
func (h *Host) Known(words string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if words == "" || h.known[words] || len(h.known) >= maxKnown {
		return
	}
	h.known[words] = true
	h.proxy.tracker.Host(words)
}

// maxKnown is how many words of the host are kept.
const maxKnown = 1000

// End drops the texts of a session.
func (h *Host) End(scope string) { h.proxy.tracker.End(scope) }

// find returns the tool in the chain of the policy as it is now.
func (h *Host) find(server string, tool Hosted) (*set, *middleware.Tool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := tool.Definition.Name
	at := slices.IndexFunc(h.tools[server], func(t Hosted) bool { return t.Definition.Name == name })
	known := at >= 0 && h.tools[server][at].is(tool)
	switch {
	case at < 0:
		h.tools[server] = append(h.tools[server], tool)
	case !known:
		h.tools[server][at] = tool
		h.set = nil // it may have an override for the tool as it was
	}
	now := h.proxy.plan()
	if h.set == nil || h.set.plan != now {
		made, err := now.newHostSet(h.early)
		if err != nil {
			return nil, nil, err
		}
		for server := range h.tools {
			if err := h.add(made, server); err != nil {
				return nil, nil, err
			}
		}
		h.set = made
	} else if !known {
		if err := h.add(h.set, server); err != nil {
			return nil, nil, err
		}
	}
	found, ok := h.set.Lookup(server, name)
	if !ok {
		return nil, nil, fmt.Errorf("proxy: the tool %s/%s is not offered: the scopes do not cover it, or its name or its definition cannot be taken", server, name)
	}
	return h.set, found, nil
}

// add puts the tools of a server into the catalog of a set, in one step: calls of those that it has already go on.
func (h *Host) add(to *set, server string) error {
	if h.proxy.trusts(to.plan.policy, server) {
		to.catalog.Trust(server)
	}
	var definitions []*mcp.Tool
	for _, t := range h.tools[server] {
		to.reviews.Store(server+"/"+t.Definition.Name, t.Lock)
		if t.Annotations.Safety() != annotation.Unknown {
			if err := to.catalog.Override(server, t.Definition.Name, t.Annotations); err != nil {
				return err
			}
		}
		definitions = append(definitions, t.Definition)
	}
	if there := to.hosted[server]; there != nil {
		there.tools.Store(&mcp.ListToolsResult{Tools: definitions})
		return to.catalog.Refresh(context.Background(), server)
	}
	first := &hosted{execute: h.execute}
	first.tools.Store(&mcp.ListToolsResult{Tools: definitions})
	if err := to.catalog.Add(context.Background(), server, first); err != nil {
		return err
	}
	to.hosted[server] = first
	return nil
}

// hosted are the tools of one server of a host, as the session of a server that lists more of them by and by.
type hosted struct {
	tools   atomic.Pointer[mcp.ListToolsResult]
	execute middleware.ToolCaller
}

// ListTools implements [catalog.Session].
func (s *hosted) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return s.tools.Load(), nil
}

// SendCall executes a call.
func (s *hosted) SendCall(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return s.execute.CallTool(ctx, call)
}

// OverHTTP reports that nothing about a call is heard of HTTP.
func (s *hosted) OverHTTP() bool { return false }

// CallTool is not called, since the catalog sends calls by SendCall.
func (s *hosted) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return nil, errors.New("proxy: the tools of a host are called by SendCall")
}

// newHostSet returns an empty set for the tools of a host.
func (p *plan) newHostSet(early bool) (*set, error) {
	held := new(reviews)
	s, err := p.newSetOf(access.Caller{}, held)
	if err != nil {
		return nil, err
	}
	s.reviews, s.hosted = held, make(map[string]*hosted)
	std := p.standard
	std.Cache, std.Retry, std.Timeout = nil, nil, nil
	if trail, doubts := std.Audit, std.Doubt; early && trail != nil && doubts != nil && std.Observe == nil {
		std.Doubt = func(next middleware.ToolCaller) middleware.ToolCaller { return doubts(trail.Intent(next)) }
		std.Audit = recordOnly{trail}
	}
	s.caller = std.Then(s)
	return s, nil
}

// recordOnly is a trail whose intents are recorded elsewhere in the chain.
type recordOnly struct{ chain.Auditor }

// Intent returns next.
func (recordOnly) Intent(next middleware.ToolCaller) middleware.ToolCaller { return next }

// Wrote announces to the user's other processes that something may have changed, see [Writes].
func (h *Host) Wrote() {
	if w := h.proxy.o.Writes; w != nil {
		w.mark()
	}
}

// Judged returns the class of a call of a tool with these arguments, with its evidence.
func (h *Host) Judged(server string, tool Hosted, arguments json.RawMessage) (*middleware.Tool, error) {
	set, found, err := h.find(server, tool)
	if err != nil {
		return nil, err
	}
	return set.plan.judged(found, arguments)
}

// Result takes in what came of a call that the chain has not seen, see [flow.Tracker.Result], or whose end it has not
// waited for: its outcome is known now.
func (h *Host) Result(server string, tool Hosted, call middleware.Call, res *mcp.CallToolResult) {
	set, found, err := h.find(server, tool)
	if err != nil {
		return // the text belongs to no tool that could be named
	}
	call.Tool = found
	h.proxy.o.Doubt.Settle(context.Background(), call, "a report that came late")
	h.proxy.tracker.Result(call.Scope, call, res, nil, set.plan.policy.TrustsResults(found))
}
