package mount

// A chain beneath a client is a sending middleware of the SDK: it takes each tools/call before it is written, makes a
// Call of it for the chain of its session, and sends on what comes out at the chain's other end (sender). The session
// travels in the context from one to the other. What belongs to a session is kept by a weak pointer and made once, so
// that a session which the host drops can be collected.

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
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Client puts chains beneath a client: each session.CallTool goes through the middleware that chainFor returns
// for the session, with the server's id in tools. An unknown tool and a session with an empty id are refused; a
// nil middleware means the guard alone. A call of a catalog or [Session] keeps its ID and its scope; any other
// has neither. Other requests pass unchanged.
func Client(client *mcp.Client, tools *catalog.Catalog, chainFor func(*mcp.ClientSession) (server string, m middleware.Middleware)) {
	switch {
	case client == nil:
		panic("mount: Client was given a nil client")
	case tools == nil:
		panic("mount: Client was given a nil catalog")
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

// mounted is the state of one session. It does not hold the session, so that it is freed with it.
type mounted struct {
	once   sync.Once
	server string
	caller middleware.ToolCaller
}

// callTool makes the call of the request by the chain of its session.
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

// arguments returns the exact bytes of the caller's value. The SDK passes an empty map for none.
func arguments(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	if members, ok := v.(map[string]any); v == nil || ok && len(members) == 0 {
		return nil, nil
	}
	return json.Marshal(v)
}

// mounted returns the chain of a session, and makes it with the session's first call.
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
