// Package mount hangs a chain on the MCP Go SDK: in front of one session, or
// beneath a whole client, so that code which already holds sessions gets the
// chain without a change.
package mount

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Caller is what a session does with a call; *mcp.ClientSession is one.
type Caller = session.Caller

// Session returns the end of a chain for a host without a catalogue: it calls the
// tool that the call names on the session. It is guarded, and a tool's class is
// the one that infer.New gave it further out; a tool that was not classed there
// is Unknown. Errors say whether the call was sent (middleware.NotSent).
func Session(s Caller) middleware.ToolCaller {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		panic("mount: Session was given a nil session")
	}
	return guard.Classified(session.Executor(s))
}

// Client hangs chains beneath a client: from now on everything that calls
// session.CallTool, on any session of the client, goes through the middleware
// that chainFor returns for it. chainFor is asked once for each session, and names
// the server by the id under which tools knows it. A tool that tools does not
// know is refused, and so is every call of a session with an empty id; a nil
// middleware leaves the guard alone. A call that a catalogue or [Session] makes through
// such a session keeps its ID and its scope; any other has neither.
//
// Other requests pass untouched, those included by which the catalogue lists the
// tools.
func Client(client *mcp.Client, tools *catalog.Catalog, chainFor func(*mcp.ClientSession) (server string, m middleware.Middleware)) {
	switch {
	case client == nil:
		panic("mount: Client was given a nil client")
	case tools == nil:
		panic("mount: Client was given a nil catalogue")
	case chainFor == nil:
		panic("mount: Client was given no func to choose a chain")
	}
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		c := &clientMount{next: next, tools: tools, chainFor: chainFor}
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != methodCallTool {
				return next(ctx, method, req)
			}
			return c.callTool(ctx, req)
		}
	})
}

const methodCallTool = "tools/call"

// clientMount is one client with the chains of its sessions.
type clientMount struct {
	next     mcp.MethodHandler
	tools    *catalog.Catalog
	chainFor func(*mcp.ClientSession) (string, middleware.Middleware)
	sessions sync.Map // weak.Pointer[mcp.ClientSession] → *mounted
}

// mounted is what hangs beneath one session. It does not hold the session, so
// that it goes when the session goes.
type mounted struct {
	once   sync.Once
	server string
	caller middleware.ToolCaller
}

func (c *clientMount) callTool(ctx context.Context, req mcp.Request) (mcp.Result, error) {
	params, ok := req.GetParams().(*mcp.CallToolParams)
	cs, isClient := req.GetSession().(*mcp.ClientSession)
	if !ok || !isClient || params == nil || cs == nil {
		return nil, refuse("a %s of an unknown shape (%T) was refused; this version of the SDK is not one that mount knows", methodCallTool, req.GetParams())
	}
	m := c.mounted(cs)
	if m.server == "" {
		return nil, refuse("the call of %.80q was refused: its session has no server id; return one from the func given to mount.Client, and see that neither it nor its middleware panics", params.Name)
	}
	tool, ok := c.tools.Lookup(m.server, params.Name)
	if !ok {
		return nil, &catalog.UnknownToolError{Server: m.server, Tool: params.Name}
	}
	call := middleware.Call{Tool: tool, Meta: params.Meta}
	call.ID, call.Scope = callstate.Sent(ctx)
	if params.InputResponses != nil || params.RequestState != "" {
		call.Input = &middleware.Input{Responses: params.InputResponses, State: params.RequestState}
	}
	var err error
	if call.Arguments, err = arguments(params.Arguments); err != nil {
		return nil, refuse("the arguments of %s cannot be written as JSON: %w", tool, err)
	}
	res, err := m.caller.CallTool(context.WithValue(ctx, sessionKey{}, cs), call)
	if err != nil {
		return nil, err
	}
	if res == nil { // the SDK would panic on it
		return nil, &fault.NoResultError{Tool: tool}
	}
	return res, nil
}

// arguments returns the exact bytes that stand for the caller's value. The SDK
// puts an empty map where there are none.
func arguments(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		if len(v) == 0 {
			return nil, nil
		}
	case json.RawMessage:
		return v, nil
	}
	return json.Marshal(v)
}

func (c *clientMount) mounted(cs *mcp.ClientSession) *mounted {
	id := weak.Make(cs)
	found, ok := c.sessions.Load(id)
	if !ok {
		var taken bool
		if found, taken = c.sessions.LoadOrStore(id, new(mounted)); !taken {
			runtime.AddCleanup(cs, func(id weak.Pointer[mcp.ClientSession]) { c.sessions.Delete(id) }, id)
		}
	}
	m := found.(*mounted) // the map holds nothing else
	m.once.Do(func() {
		server, chain := c.chainFor(cs)
		caller := c.tools.Guard(session.Executor(sender{c.next}))
		if chain != nil {
			caller = chain(caller)
		}
		m.server, m.caller = server, caller // last: where one of the two panics, nothing is called
	})
	return m
}

type sessionKey struct{}

// sender sends a call on through the SDK, beneath the chain.
type sender struct{ next mcp.MethodHandler }

func (s sender) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	cs, ok := ctx.Value(sessionKey{}).(*mcp.ClientSession)
	if !ok {
		return nil, refuse("the context of the call of %s has lost its session; a middleware must derive its context from the one it was given", params.Name)
	}
	res, err := s.next(ctx, methodCallTool, &mcp.ClientRequest[*mcp.CallToolParams]{Session: cs, Params: params})
	if err != nil {
		return nil, err
	}
	out, ok := res.(*mcp.CallToolResult)
	if !ok {
		return nil, fmt.Errorf("mount: the SDK answered %T to a %s", res, methodCallTool)
	}
	return out, nil
}

// A refusedError ends a call that did not leave and never could.
type refusedError struct{ error }

func refuse(format string, args ...any) error {
	return refusedError{fmt.Errorf("mount: "+format, args...)}
}

func (e refusedError) Unwrap() error { return e.error }
func (refusedError) NotSent() bool   { return true }
func (refusedError) Permanent() bool { return true }
