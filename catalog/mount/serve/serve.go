// Package serve puts a chain in front of the tools of a server of the host's own, and declares what they do:
// [New] with [AddTool], or [ToolHandler] for one handler. With [Resolve] the server answers what a call would
// do before it is made.
package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/incoming"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Defaults are the annotations of every tool that declares nothing else, the category included. They do not
	// lower a tool whose words make it dangerous; annotate that tool instead. The zero value means none.
	Defaults annotation.Annotations
	// Chain is in front of the handlers of the tools; nil means none, and the clients decide.
	Chain middleware.Middleware
	// Scope returns the scope of a call, for the chain's cache and limits; nil means the user of the request's
	// bearer token, else the session, else the token itself. Requests with none of these share the empty scope,
	// such as those of the newest revision without a token, so set Scope if that must not be.
	Scope func(req *mcp.CallToolRequest) string
	// Permission returns the permission that a caller of the tool needs, as in catalog.Options. With it,
	// tools/list, tools/call and [Resolve] show and take only what the scopes of the request cover, and a tool
	// that AddTool did not add needs "*.all". Nil means that every request may use everything.
	Permission func(tool *middleware.Tool) string
	// Scopes returns what a request may do; nil means the scopes of its bearer token, for tools of the public level.
	Scopes func(extra *mcp.RequestExtra) []catalog.Scope
}

// A Server puts a chain in front of the tools of a server of the host's own. It is safe for concurrent use.
type Server struct {
	mcp *mcp.Server
	id  string
	o   Options

	mu    sync.RWMutex
	tools map[string]*middleware.Tool // that were added by AddTool
}

// New prepares a server of the SDK for tools that are added by [AddTool]; other tools and requests are unchanged.
// The id names the server in explanations and records. New panics on a nil server, an empty id and
// contradictory defaults.
func New(s *mcp.Server, id string, o Options) *Server {
	switch {
	case s == nil:
		panic("serve: New was given a nil server")
	case id == "":
		panic("serve: New was given an empty id; it names the server in explanations and records")
	}
	if err := o.Defaults.Validate(); err != nil {
		panic("serve: Options.Defaults: " + err.Error())
	}
	if o.Scope == nil {
		o.Scope = caller
	}
	if o.Scopes == nil {
		o.Scopes = granted
	}
	out := &Server{mcp: s, id: id, o: o, tools: make(map[string]*middleware.Tool)}
	s.AddReceivingMiddleware(out.filter, out.receive) // the first is outermost
	return out
}

// caller is whose call a request is where the host does not say.
func caller(req *mcp.CallToolRequest) string {
	bearer := req.Extra != nil && req.Extra.TokenInfo != nil
	if bearer && req.Extra.TokenInfo.UserID != "" {
		return req.Extra.TokenInfo.UserID
	}
	if req.Session != nil && req.Session.ID() != "" {
		return "session " + req.Session.ID()
	}
	if bearer { // a token need not name its user, and the newest revision has no sessions
		sum := sha256.Sum256([]byte(req.Extra.Header.Get("Authorization")))
		return "token " + hex.EncodeToString(sum[:16])
	}
	return ""
}

// AddTool adds a tool made of a Go func, as mcp.AddTool does, and declares what is known of it: what its words
// imply, the server's defaults, and own together with the definition's own annotations, which win. MCP's hints
// are in the tool's annotations and all of it in its _meta, for a catalog. To replace the tool, call AddTool
// again, not mcp.Server.AddTool. After an error (contradictory annotations, or a tool that the SDK does not
// take) nothing was added.
func AddTool[In, Out any](s *Server, t *mcp.Tool, own annotation.Annotations, h mcp.ToolHandlerFor[In, Out]) (err error) {
	if t == nil || h == nil {
		return fmt.Errorf("serve: AddTool was given a nil tool or a nil handler for %s", s.id)
	}
	a, err := s.annotate(t, own)
	if err != nil {
		return err
	}
	declared := annotation.Declare(t, a)
	tool, err := middleware.NewTool(s.id, declared, a)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer func() { // the SDK panics on a schema that it does not take
		if v := recover(); v != nil {
			err = fmt.Errorf("serve: the SDK does not take the tool %s: %v", tool, v)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	mcp.AddTool(s.mcp, declared, h)
	s.tools[t.Name] = tool
	return nil
}

// annotate returns what is known of a tool, the author's word before the server's defaults before inference. Defaults
// do not lower what inference calls dangerous.
func (s *Server) annotate(t *mcp.Tool, own annotation.Annotations) (annotation.Annotations, error) {
	said, err := annotation.FromTool(t)
	if err != nil {
		return said, fmt.Errorf("serve: what %s/%s declares: %w", s.id, t.Name, err)
	}
	own = annotation.Merge(said, own)
	if err := own.Validate(); err != nil {
		return own, fmt.Errorf("serve: the annotations of %s/%s: %w", s.id, t.Name, err)
	}
	inferred := infer.Tool(t)
	defaults := s.o.Defaults.Attribute(annotation.Rule, s.id)
	inherited := annotation.Merge(inferred, defaults)
	if inferred.Safety() == annotation.Dangerous {
		inherited = annotation.Raise(inferred, defaults)
	}
	return annotation.Merge(inherited, own.Attribute(annotation.Host, "")), nil
}

// receive takes the calls of the tools that were added by AddTool, with one chain for all of them.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	if s.o.Chain == nil {
		return next
	}
	chained := s.o.Chain(guard.New(handler{next}, s.accepted))
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, ok := req.(*mcp.CallToolRequest)
		if method != methodCallTool || !ok || r.Params == nil {
			return next(ctx, method, req)
		}
		tool := s.tool(r.Params.Name)
		if tool == nil {
			return next(ctx, method, req)
		}
		res, err := chained.CallTool(incoming.With(ctx, r), s.call(tool, r))
		if res, err = asked(r, res, err); err != nil {
			return nil, err
		}
		return res, nil
	}
}

func (s *Server) tool(name string) *middleware.Tool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tools[name]
}

// accepted is what the guard takes the class from.
func (s *Server) accepted(ctx context.Context, call middleware.Call) (*middleware.Tool, error) {
	tool := s.tool(call.Tool.Name())
	if tool == nil || tool.Server != call.Tool.Server || tool.Digest != call.Tool.Digest {
		return nil, refuse("the call of %s was refused: the server has no such tool, or another one by now", call.Tool)
	}
	call.Tool = tool
	return tool, s.coversArguments(ctx, call)
}

// call makes a call of the request, for the chain.
func (s *Server) call(tool *middleware.Tool, r *mcp.CallToolRequest) middleware.Call {
	call := middleware.Call{Scope: s.o.Scope(r), Tool: tool, Arguments: r.Params.Arguments, Meta: r.Params.Meta}
	if r.Params.InputResponses != nil || r.Params.RequestState != "" {
		call.Input = &middleware.Input{Responses: r.Params.InputResponses, State: r.Params.RequestState}
	}
	return call
}

// asked makes an input_required result of an error that asks the client, if its revision has those.
func asked(r *mcp.CallToolRequest, res *mcp.CallToolResult, err error) (*mcp.CallToolResult, error) {
	requests, state, ok := fault.InputRequired(err)
	if !ok || r.ProtocolVersion() < incoming.InputRequired {
		return res, err
	}
	question := new(mcp.CallToolResult)
	if err := json.Unmarshal([]byte(`{"content":[],"resultType":"input_required"}`), question); err != nil {
		return nil, err
	}
	question.InputRequests, question.RequestState = requests, state
	return question, nil
}

// A handler is the way on into the SDK, beneath the chain.
type handler struct{ next mcp.MethodHandler }

func (h handler) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	came := incoming.Of(ctx)
	if came == nil {
		return nil, refuse("the context of the call of %s has lost its request; a middleware must derive its context from the one it was given", call.Tool)
	}
	params := &mcp.CallToolParamsRaw{Meta: maps.Clone(call.Meta), Name: call.Tool.Name(), Arguments: call.Arguments}
	if call.Input != nil {
		params.InputResponses, params.RequestState = call.Input.Responses, call.Input.State
	}
	res, err := h.next(ctx, methodCallTool, &mcp.CallToolRequest{Session: came.Session, Params: params, Extra: came.Extra})
	if err != nil {
		return nil, fault.Ran(err)
	}
	out, ok := res.(*mcp.CallToolResult)
	if !ok || out == nil {
		return nil, &fault.NoResultError{Tool: call.Tool}
	}
	return out, nil
}

// ToolHandler returns a handler of the SDK behind a chain, for a host that adds its tools with mcp.Server.AddTool
// itself. The tool describes the handler; scope is as in [Options]. It panics on a nil tool, chain or handler.
func ToolHandler(tool *middleware.Tool, chain middleware.Middleware, scope func(req *mcp.CallToolRequest) string, h mcp.ToolHandler) mcp.ToolHandler {
	if tool.Name() == "" || chain == nil || h == nil {
		panic("serve: ToolHandler needs a tool, a chain and a handler")
	}
	next := func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
		return h(ctx, req.(*mcp.CallToolRequest)) // handler makes no other
	}
	s := &Server{id: tool.Server, o: Options{Chain: chain, Scope: scope}, tools: map[string]*middleware.Tool{tool.Name(): tool}}
	if scope == nil {
		s.o.Scope = caller
	}
	chained := s.o.Chain(guard.New(handler{next}, s.accepted))
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := chained.CallTool(incoming.With(ctx, r), s.call(tool, r))
		return asked(r, res, err)
	}
}

const (
	methodCallTool  = "tools/call"
	methodListTools = "tools/list"
)

func refuse(format string, args ...any) error {
	return fault.Unsendable(fmt.Errorf("serve: "+format, args...))
}
