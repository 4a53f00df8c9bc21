// Package serve puts a chain in front of the tools of a server of the host's own, and declares what they do:
// [New] with [AddTool], or [ToolHandler] for one handler. With [Resolve] the server answers what a call would
// do before it is made.
package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/incoming"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/internal/scope"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
// are in the tool's annotations and all of it in its _meta, for a catalogue. To replace the tool, call AddTool
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

// granted are the scopes of the request's bearer token, which say nothing of levels.
func granted(extra *mcp.RequestExtra) []catalog.Scope {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	scopes := make([]catalog.Scope, len(extra.TokenInfo.Scopes))
	for i, s := range extra.TokenInfo.Scopes {
		scopes[i] = catalog.Scope{Permission: s}
	}
	return scopes
}

// filter shows and calls for each caller only what its scopes cover, and keeps nothing between requests.
func (s *Server) filter(next mcp.MethodHandler) mcp.MethodHandler {
	if s.o.Permission == nil {
		return next
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case methodCallTool:
			r, ok := req.(*mcp.CallToolRequest)
			if !ok || r.Params == nil || !s.covers(s.scopes(r.Extra), r.Params.Name) {
				return nil, unknownTool(r)
			}
		case resolution.MethodResolve, resolution.MethodAnnotations:
			p, ok := req.GetParams().(*resolution.Params)
			if !ok || p == nil || !s.covers(s.scopes(req.GetExtra()), p.Name) {
				return nil, unresolvable(p)
			}
		case methodListTools:
			res, err := next(ctx, method, req)
			if err != nil {
				return nil, err
			}
			page, ok := res.(*mcp.ListToolsResult)
			if !ok { // what cannot be read is not shown to everybody
				return nil, fmt.Errorf("serve: the tools of %s cannot be listed by permission, since a middleware of the server's makes a %T of the list; add it, or call Resolve, after serve.New", s.id, res)
			}
			scopes := s.scopes(req.GetExtra())
			seen := *page
			seen.CacheScope = "private" // nobody on the way may give it to others
			seen.Tools = slices.DeleteFunc(slices.Clone(page.Tools), func(t *mcp.Tool) bool { return !s.covers(scopes, t.Name) })
			return &seen, nil
		}
		return next(ctx, method, req)
	}
}

// scopes reads one after the other, so that an invalid one takes nothing away from the rest.
func (s *Server) scopes(extra *mcp.RequestExtra) []scope.Set {
	var sets []scope.Set
	for _, one := range s.o.Scopes(extra) {
		if set, err := scope.New(one); err == nil {
			sets = append(sets, set)
		}
	}
	return sets
}

func (s *Server) covers(sets []scope.Set, name string) bool { return s.coversTool(sets, s.tool(name)) }

// coversTool reports whether the scopes cover a tool; nil is one of which nothing is known.
func (s *Server) coversTool(sets []scope.Set, tool *middleware.Tool) bool {
	permission := ""
	if tool == nil {
		tool = new(middleware.Tool)
	} else {
		permission = s.o.Permission(tool)
	}
	return slices.ContainsFunc(sets, func(set scope.Set) bool { return set.Covers(permission, tool.Annotations.SecurityLevel) })
}

// coversArguments refuses a call that preflight found to be more than its tool and than the request's scopes cover.
func (s *Server) coversArguments(ctx context.Context, call middleware.Call) error {
	came := incoming.Of(ctx)
	if s.o.Permission == nil || came == nil { // nothing is called without its request
		return nil
	}
	scopes := s.scopes(came.Extra)
	return scope.CheckArguments(ctx, call, func(tool *middleware.Tool) bool { return s.coversTool(scopes, tool) })
}

// unknownTool is the SDK's error for a tool that is not there, so that a client does not learn which tools there are.
func unknownTool(r *mcp.CallToolRequest) error {
	name := ""
	if r != nil && r.Params != nil {
		name = r.Params.Name
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}

// A Resolvable is a tool of the host's own server whose effect depends on its arguments.
type Resolvable struct {
	// Tool is the definition that the server lists. Its hints must be the worst of all answers.
	Tool *mcp.Tool
	// Answers are all that can be answered, by names of the author's choice. Only the four hints of MCP count.
	Answers map[string]annotation.Annotations
	// Choose names the answer for arguments that keep the tool's input schema; any other name stands for the
	// tool's own hints. It gets a copy and must have no effect, since it runs before any approval.
	Choose func(arguments json.RawMessage) (answer string)
}

// Resolve makes a server answer what a call of the tools would do with exactly its arguments: by the extension
// io.modelcontextprotocol/tool-resolution and by tools/annotations. Call it once, after other middleware of the
// server's, and add the tools to the server as always. Arguments that do not keep the input schema are answered
// as invalid. After an error, such as an answer that is worse than the definition declares, nothing has changed.
func Resolve(server *mcp.Server, tools ...Resolvable) error {
	if server == nil {
		panic("serve: Resolve was given a nil server")
	}
	s := make(resolvables, len(tools))
	var faults []error
	for _, t := range tools {
		r, err := prepare(t)
		switch {
		case err != nil:
			faults = append(faults, err)
		case s[t.Tool.Name] != nil:
			faults = append(faults, fmt.Errorf("serve: %q is to be resolved twice", t.Tool.Name))
		default:
			s[t.Tool.Name] = r
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if err := errors.Join(
		mcp.AddReceivingCustomMethod(server, resolution.MethodAnnotations, s.replier(false)),
		mcp.AddReceivingCustomMethod(server, resolution.MethodResolve, s.replier(true)),
	); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	server.AddReceivingMiddleware(resolution.Announce(s.bound))
	return nil
}

// resolvables are the tools of one server by name.
type resolvables map[string]*resolvable

type resolvable struct {
	schema  *jsonschema.Resolved
	worst   annotation.Annotations
	answers map[string]annotation.Annotations
	choose  func(json.RawMessage) string
}

func prepare(t Resolvable) (*resolvable, error) {
	if t.Tool == nil || t.Tool.Name == "" {
		return nil, errors.New("serve: a Resolvable needs a Tool with a name")
	}
	fault := func(format string, args ...any) (*resolvable, error) {
		return nil, fmt.Errorf("serve: the Resolvable %q %w", t.Tool.Name, fmt.Errorf(format, args...))
	}
	if len(t.Answers) == 0 || t.Choose == nil {
		return fault("needs Answers and a func to Choose one")
	}
	var schema *jsonschema.Schema
	var resolved *jsonschema.Resolved
	raw, err := json.Marshal(t.Tool.InputSchema)
	if err == nil {
		err = json.Unmarshal(raw, &schema)
	}
	switch {
	case err != nil:
	case schema == nil:
		err = errors.New("it is missing")
	default:
		resolved, err = schema.Resolve(nil)
	}
	if err != nil {
		return fault("has no InputSchema that can be read: %w", err)
	}
	declared, err := annotation.FromTool(t.Tool)
	if err != nil {
		return fault("has annotations that cannot be read: %w", err)
	}
	answers := make(map[string]annotation.Annotations, len(t.Answers))
	for name, answer := range t.Answers {
		if err := answer.Validate(); err != nil {
			return fault("has the answer %q: %w", name, err)
		}
		if rest := answer.Without(annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.IdempotentHint, annotation.OpenWorldHint); rest.Summary() != (annotation.Annotations{}).Summary() {
			return fault("has the answer %q with more than the four hints of MCP: %s", name, rest.Summary())
		}
		answer = complete(answer, declared)
		answers[name] = answer
		if worse := resolution.Exceeds(declared, answer); len(worse) > 0 {
			return fault("has the answer %q, which is worse than its definition says of all calls (%v); declare the worst", name, worse)
		}
	}
	return &resolvable{schema: resolved, worst: complete(declared, declared), answers: answers, choose: t.Choose}, nil
}

// complete returns all four hints as they are sent: those missing follow from a read, or else from the tool.
func complete(a, tool annotation.Annotations) annotation.Annotations {
	if a.ReadOnly == annotation.Yes {
		a.Destructive, a.Idempotent = a.Destructive.Or(annotation.No), a.Idempotent.Or(annotation.Yes)
	}
	d := tool.Defaults()
	return annotation.Annotations{
		ReadOnly: a.ReadOnly.Or(d.ReadOnly), Destructive: a.Destructive.Or(d.Destructive),
		Idempotent: a.Idempotent.Or(d.Idempotent), OpenWorld: a.OpenWorld.Or(d.OpenWorld),
	}
}

// answer returns what is said of a call, or the protocol's error.
func (s resolvables) answer(p *resolution.Params) (hints annotation.Annotations, err error) {
	invalid := func(format string, args ...any) (annotation.Annotations, error) {
		return hints, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
	}
	if p == nil {
		return invalid("there are no params")
	}
	r := s[p.Name]
	if r == nil {
		return hints, unresolvable(p)
	}
	if len(bytes.TrimSpace(p.Arguments)) == 0 {
		return invalid("arguments is missing; {} means none")
	}
	var arguments map[string]any
	form, err := canonical.AppendObject(nil, p.Arguments)
	if err == nil {
		err = json.Unmarshal(form, &arguments)
	}
	if err == nil {
		err = r.schema.Validate(arguments)
	}
	if err != nil {
		return invalid("the arguments of %s: %v", p.Name, err)
	}
	defer func() {
		if recover() != nil {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "what the call would do could not be worked out"}
		}
	}()
	hints, ok := r.answers[r.choose(bytes.Clone(p.Arguments))]
	if !ok {
		hints = r.worst
	}
	return hints, nil
}

// unresolvable is the answer about a tool that is not there, and about one that the request may not use.
func unresolvable(p *resolution.Params) error {
	name := cmp.Or(p, new(resolution.Params)).Name
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("there is no tool %.80q that can be resolved", name)}
}

// bound reports whether a tool can be resolved by the definition that is listed: it is no milder than any answer.
func (s resolvables) bound(listed *mcp.Tool) bool {
	r := s[listed.Name]
	if r == nil {
		return false
	}
	declared, err := annotation.FromTool(listed)
	return err == nil && !slices.ContainsFunc(append(slices.Collect(maps.Values(r.answers)), r.worst), func(a annotation.Annotations) bool {
		return len(resolution.Exceeds(declared, a)) > 0
	})
}

// replier returns the handler of a method, whose reply may have to name the tool.
func (s resolvables) replier(named bool) func(context.Context, *mcp.ServerSession, *resolution.Params) (*resolution.Reply, error) {
	return func(_ context.Context, _ *mcp.ServerSession, p *resolution.Params) (*resolution.Reply, error) {
		hints, err := s.answer(p)
		if err != nil {
			return nil, err
		}
		reply := &resolution.Reply{ResultType: "complete", Annotations: hints}
		if named {
			reply.Name = p.Name
		}
		return reply, nil
	}
}
