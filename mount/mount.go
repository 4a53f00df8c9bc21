// Package mount puts a chain in front of one session of the MCP Go SDK, or beneath a whole client, so that code
// which already holds sessions gets the chain without a change. Package serve does the same for a server.
package mount

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/internal/answers"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/rawlist"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Caller is what a session does with a call; *mcp.ClientSession is one.
type Caller = session.Caller

// Session returns the guarded end of a chain for a host without a catalogue: it calls tools on the session. A
// tool has the class that infer.New gave it further out, else Unknown. Errors report whether the call was sent.
func Session(s Caller) middleware.ToolCaller {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		panic("mount: Session was given a nil session")
	}
	return guard.Classified(session.Executor(s))
}

// Client puts chains beneath a client: each session.CallTool goes through the middleware that chainFor returns
// for the session, with the server's id in tools. An unknown tool and a session with an empty id are refused; a
// nil middleware means the guard alone. A call of a catalogue or [Session] keeps its ID and its scope; any other
// has neither. Other requests pass unchanged.
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

// mounted is what hangs beneath one session. It does not hold the session, so that it goes with it.
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

func refuse(format string, args ...any) error {
	return fault.Unsendable(fmt.Errorf("mount: "+format, args...))
}

// Options prepares the options of a client whose sessions the catalogue lists, before the client is made:
//
//	client := mcp.NewClient(impl, mount.Options(tools, nil))
//
// With them the catalogue lists changed tools again. The host's own ToolListChangedHandler is called as before.
// The options given are not changed; nil is none.
func Options(tools *catalog.Catalog, own *mcp.ClientOptions) *mcp.ClientOptions {
	if tools == nil {
		panic("mount: Options was given a nil catalogue")
	}
	o := *cmp.Or(own, &mcp.ClientOptions{})
	first, then := tools.Watch(), o.ToolListChangedHandler
	o.ToolListChangedHandler = func(ctx context.Context, req *mcp.ToolListChangedRequest) {
		first(ctx, req)
		if then != nil {
			then(ctx, req)
		}
	}
	return &o
}

// ResolverOptions prepares the options of a client whose sessions a [Resolver] will ask, before the client is
// made: it announces the extension io.modelcontextprotocol/tool-resolution. The options given are not changed;
// nil is none.
func ResolverOptions(own *mcp.ClientOptions) *mcp.ClientOptions {
	o := *cmp.Or(own, &mcp.ClientOptions{})
	caps := mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}} //nolint:staticcheck // what the SDK announces by itself
	if o.Capabilities != nil {
		caps = *o.Capabilities
		caps.Extensions = maps.Clone(caps.Extensions)
	}
	caps.AddExtension(resolution.Extension, nil)
	o.Capabilities = &caps
	return &o
}

// A ToolResolver asks servers what a call with exactly these arguments would do. It is a preflight.Resolver.
type ToolResolver struct {
	session func(server string) *mcp.ClientSession
}

// Resolver returns a resolver for the sessions of the clients. session returns that of a server by its id, nil
// for none.
//
// A server is asked only if it announced that it answers and marked the tool: by the extension
// io.modelcontextprotocol/tool-resolution, or, with [Transport], by tools/annotations. Resolver panics on a nil
// func, without a client and on a nil one.
func Resolver(session func(server string) *mcp.ClientSession, clients ...*mcp.Client) *ToolResolver {
	if session == nil {
		panic("mount: Resolver was given no func to find a session")
	}
	if len(clients) == 0 || slices.Contains(clients, nil) {
		panic("mount: Resolver needs the clients of its sessions, and none of them nil")
	}
	for _, client := range clients {
		for _, method := range []string{resolution.MethodResolve, resolution.MethodAnnotations} {
			if err := mcp.AddSendingCustomMethod[*resolution.Params, *resolution.Answer](client, method); err != nil {
				panic(fmt.Sprintf("mount: the SDK does not send %s: %v", method, err))
			}
		}
	}
	return &ToolResolver{session}
}

// Resolve asks the server of the call's tool; ok is false if it did not offer to answer, and then nothing was
// sent. An answer that is malformed, too long, or about another tool is an error.
func (r *ToolResolver) Resolve(ctx context.Context, call middleware.Call) (answer annotation.Annotations, ok bool, err error) {
	cs := r.session(call.Tool.Server)
	if cs == nil {
		return answer, false, nil
	}
	form := resolution.Offered(cs, call.Tool.Definition)
	if form == resolution.None {
		return answer, false, nil
	}
	p := &resolution.Params{Name: call.Tool.Name(), Arguments: call.Arguments}
	if len(bytes.TrimSpace(p.Arguments)) == 0 {
		p.Arguments = json.RawMessage("{}")
	}
	watched, wire := sdkerr.Watch(ctx)
	res, err := mcp.CallCustomMethod[*resolution.Params, *resolution.Answer](watched, cs, form.Method(), p)
	if err != nil {
		err = sdkerr.Sort(ctx, wire, call.Tool.Server, call.Tool.Name(), err)
		err = fmt.Errorf("mount: what the call would do was asked in vain: %w", err)
		if reply, ok := errors.AsType[*jsonrpc.Error](err); ok && reply.Code == jsonrpc.CodeInvalidParams {
			err = &invalidArgumentsError{err}
		}
		return answer, true, err
	}
	if answer, err = res.Read(form, call.Tool.Name()); err != nil {
		return annotation.Annotations{}, true, fault.Told(fmt.Errorf("mount: %s answered %s with what cannot be read: %w", call.Tool.Server, form.Method(), err), true, "")
	}
	return answer, true, nil
}

// An invalidArgumentsError is a server's word that the arguments are invalid.
type invalidArgumentsError struct{ error }

func (e *invalidArgumentsError) Unwrap() error        { return e.error }
func (*invalidArgumentsError) InvalidArguments() bool { return true }

// Transport prepares the way to a server, before the client connects through it. With it a catalogue sees lists
// of tools as the server wrote them: an absent hint differs from a false one, a malformed tool is left out
// instead of failing the list, and the SDK caches no list. What the SDK drops of tools that a [Resolver] asks
// about is copied into their _meta, and so into their digest. Nothing else is changed.
//
// Streamable HTTP gets [RoundTripper] as well, so one call prepares everything:
//
//	session, err := client.Connect(ctx, mount.Transport(&mcp.StreamableClientTransport{Endpoint: url}), nil)
func Transport(t mcp.Transport) mcp.Transport {
	if t == nil {
		panic("mount: Transport was given a nil transport")
	}
	h, ok := t.(*mcp.StreamableClientTransport)
	if !ok {
		return answers.Transport(t, looking)
	}
	prepared := *h
	client := *cmp.Or(h.HTTPClient, &http.Client{})
	client.Transport = answers.RoundTripper(RoundTripper(client.Transport), looking)
	prepared.HTTPClient = &client
	return &prepared
}

const methodListTools = "tools/list"

// looking returns what to do with an answer: keep what the SDK drops, and pass a list to its catalogue.
func looking(ctx context.Context, method string) answers.Look {
	if !resolution.Marked(method) {
		return nil
	}
	return func(result json.RawMessage) json.RawMessage {
		result = resolution.Mark(method, result)
		if method == methodListTools {
			result = rawlist.From(ctx).Take(result)
		}
		return result
	}
}

// RawList passes a result of tools/list to the catalog that asked for it with ctx, and returns what the SDK's
// types can read of it. It is for a server that is reached without [Transport].
func RawList(ctx context.Context, result json.RawMessage) json.RawMessage {
	if page := rawlist.From(ctx); page != nil {
		return page.Take(result)
	}
	return result
}

// Shallow returns an answer to tools/list with null for what is nested deeper than 900 levels, so that the
// catalog leaves out such a tool alone. Other messages stay. It is for a server without a [Transport].
func Shallow(message []byte) []byte { return answers.Shallow(message) }

// Unambiguous returns an error for a JSON object in which an object, at any depth, has two members of one name,
// in any case. It is for the params of a request that is forwarded.
func Unambiguous(object json.RawMessage) error {
	_, err := canonical.AppendObject(nil, object)
	return err
}

// RoundTripper prepares the HTTP client of a session, before it connects:
//
//	&mcp.StreamableClientTransport{
//		Endpoint:   url,
//		HTTPClient: &http.Client{Transport: mount.RoundTripper(nil)},
//	}
//
// With it an error reports the status and Retry-After. HTTP 429 counts as refused before execution if only one
// request was sent. HTTP 503 does not; its Retry-After paces what may be repeated.
//
// It also keeps net/http from sending a POST with an Idempotency-Key again when the connection breaks, unless it
// certainly did not arrive.
//
// Put it around transports that add headers or log, and inside one that repeats. Nil means http.DefaultTransport.
func RoundTripper(base http.RoundTripper) http.RoundTripper {
	return sdkerr.RoundTripper(cmp.Or(base, http.DefaultTransport))
}
