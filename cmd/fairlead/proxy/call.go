package proxy

// A call comes in by [session.callTool], passes the chain, and goes out by [server.SendCall], which the catalog calls
// for each attempt. What is classified, shown, approved and sent is the library's call, and both have it as an argument.
// Between the two, the context has the one [clientCall], which is what the proxy needs beside it, and the request as
// package elicit knows it.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A clientCall is a client's tools/call on its way through the chain. It is the context of what the chain does. A call
// that gets input goes through the chain once more, as another one.
type clientCall struct {
	*underWay

	set     *set                    // of tools, with the chain that the call goes through
	updates *task                   // of a server's, that the call brings input to by tasks/update; nil for none
	waits   *waiter                 // what its client gets while it waits for a person; nil for nothing
	answer  atomic.Pointer[written] // what a server answered last
	undoes  string                  // why a person has it made, to take another call back; "" for a client's call
	person  string                  // who has that made, "" if that has no name
}

// Value returns the call itself for the key of this package.
func (c *clientCall) Value(key any) any {
	if key == (requestKey{}) {
		return c
	}
	return c.underWay.Value(key)
}

// callIn returns the client's call that a context is of, nil for none.
func callIn(ctx context.Context) *clientCall {
	c, _ := ctx.Value(requestKey{}).(*clientCall)
	return c
}

// number returns which call of its client a call is since that connected. The protocol knows no turns: a client sends the
// calls of one like any others, so nothing is stated about them.
func number(ctx context.Context, _ middleware.Call) int {
	if c := callIn(ctx); c != nil && c.undoes == "" {
		return c.number
	}
	return 0
}

// waiterIn returns what the client of a context's call gets while it waits for a person, nil for nothing.
func waiterIn(ctx context.Context) *waiter {
	if c := callIn(ctx); c != nil {
		return c.waits
	}
	return nil
}

// callTool answers tools/call: by the chain.
func (s *session) callTool(ctx context.Context, m *message) (*message, bool) {
	p, more, err := readCall(m.Params)
	if err != nil {
		err = invalid("proxy: the params of tools/call are refused: " + err.Error())
		return s.cannotCall(ctx, m, middleware.Call{Tool: s.calledBy(textOf(m.Params, "name")), Arguments: m.Params}, err)
	}
	set, tool, err := s.tools.find(ctx, p.Name, m.id())
	if err != nil {
		if !middleware.NotSent(err) { // whatever became of the list
			err = notSent(err)
		}
		return s.cannotCall(ctx, m, middleware.Call{Tool: cmp.Or(tool, s.calledBy(p.Name)), Arguments: p.Arguments}, err)
	}
	if err := s.mismatchedArguments(m, tool, p.Arguments); err != nil {
		return s.cannotCall(ctx, m, middleware.Call{Tool: tool, Arguments: p.Arguments}, err)
	}
	call := middleware.Call{ID: m.id(), Scope: s.scope, Tool: tool, Arguments: p.Arguments, Meta: p.Meta, Params: more}
	if p.InputResponses != nil || p.RequestState != "" {
		call.Input = &middleware.Input{Responses: p.InputResponses, State: p.RequestState}
	}
	c := &clientCall{underWay: underWayIn(ctx), set: set}
	ctx = elicit.WithRequest(c, s.request(p))
	if takesTasks(m) {
		inTask := ctx
		c.waits = &waiter{detaches: true, report: func(time.Duration) { s.detach(inTask, m, s.proxy.o.Waits(inTask)) }}
	} else if token := m.meta["progressToken"]; token != nil {
		c.waits = &waiter{report: func(waited time.Duration) { // less than 1, since the server's progress comes after it
			s.out(&message{Method: "notifications/progress", Params: fmt.Appendf(nil,
				`{"progressToken":%s,"progress":%.5f,"message":"waiting for a person's approval"}`, token, waited.Hours())}, m.id())
		}}
	}
	if s.version.value() != "" { // it takes requests
		ctx = elicit.WithElicit(ctx, func(ctx context.Context, form *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return s.elicit(ctx, form, m.id())
		})
	}
	res, err := set.caller.CallTool(ctx, call)
	return s.outcome(ctx, m, call, c, res, err)
}

// outcome returns the response to a call that has left the chain. A result that is a server's answer goes on in the bytes
// of the server.
func (s *session) outcome(ctx context.Context, m *message, call middleware.Call, c *clientCall, res *mcp.CallToolResult, err error) (*message, bool) {
	answer := c.answer.Load()
	its := answer.gives(res)
	if answer.goesOn() || its && answer.more { // the client reads all of it
		s.proxy.tracker.Result(s.scope, call, nil, sourceError(answer.raw), c.set.plan.policy.TrustsResults(call.Tool))
	}
	switch {
	case err != nil && answer.goesOn() && ctx.Err() == nil:
		return m.replyTo(s.goesOn(call, m, answer)), true
	case err != nil:
		return s.refused(ctx, m, call, err)
	case its && answer.kind == "" && m.namesRevision():
		return m.replyTo(withMember(answer.raw, "resultType", "complete")), true
	case its:
		return m.replyTo(answer.raw), true
	}
	return m.resultOf(res), true
}

// A sourceError has a result of which only a part was read, for information flow.
type sourceError json.RawMessage

func (sourceError) Error() string    { return "" }
func (e sourceError) Unread() []byte { return e }

// A waiter is what a client gets while its call waits for a person.
type waiter struct {
	report   func(waited time.Duration)
	detaches bool // report answers the request with a task, so that the call can wait as long as its question
}

// refused returns the response to a call that ended in an error. An error of the server's is passed on in the server's
// words, one that needs input becomes the question, and any other becomes a result that the model can read. It reports
// false if the client does not wait any more.
func (s *session) refused(ctx context.Context, m *message, call middleware.Call, err error) (*message, bool) {
	if !listens(ctx) {
		return nil, false
	}
	ctx = context.WithoutCancel(ctx)
	if answer, ok := errors.AsType[unread](err); ok {
		if _, two := errors.AsType[*ambiguousError](err); !two {
			return m.replyTo(answer.Unread()), true
		}
	}
	if reply, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return m.failTo(reply), true
	}
	if wants, ok := errors.AsType[signInRequired](err); ok && s.opensPages() {
		return m.failTo(wireError(s.elicitSignIn(wants))), true
	}
	if asks, ok := errors.AsType[inputRequired](err); ok {
		requests, state := asks.InputRequired()
		return m.resultTo(map[string]any{"resultType": "input_required", "content": []any{}, "inputRequests": requests, "requestState": state}), true
	}
	res, err := s.proxy.explain(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, err
	})).CallTool(ctx, call)
	if err != nil {
		return nil, false // it is not waited for any more
	}
	return m.resultOf(res), true
}

// request returns the client's request as package elicit knows it: with the revision and the capabilities of the client,
// which a client that has sent an initialize named there.
func (s *session) request(p *mcp.CallToolParamsRaw) *mcp.CallToolRequest {
	params := *p
	if version, _ := p.Meta[mcp.MetaKeyProtocolVersion].(string); version == "" {
		params.Meta = s.client.meta(s.version.value())
		if len(p.Meta) > 0 {
			own := maps.Clone(p.Meta)
			maps.Copy(own, params.Meta)
			params.Meta = own
		}
	}
	return &mcp.CallToolRequest{Params: &params}
}

// An introduction is how a client described itself in its initialize, in the form of _meta. It is safe for concurrent use.
type introduction struct {
	mu      sync.Mutex
	client  mcp.Meta // the client's part
	agent   string   // what the client calls itself there
	version string   // that was agreed on
	both    mcp.Meta // of these; nil if it has to be made
}

// set replaces the client's part.
func (i *introduction) set(client mcp.Meta) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.client, i.agent, i.both = client, agentOf(client[mcp.MetaKeyClientInfo]), nil
}

// called returns what the client calls itself.
func (i *introduction) called() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.agent
}

// meta returns it with the revision that was agreed on. It is read-only.
func (i *introduction) meta(version string) mcp.Meta {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.both == nil || i.version != version {
		i.version, i.both = version, mcp.Meta{mcp.MetaKeyProtocolVersion: version}
		maps.Copy(i.both, i.client)
	}
	return i.both
}

// elicit puts a form to the client's user while the call waits.
func (s *session) elicit(ctx context.Context, form *mcp.ElicitParams, about string) (*mcp.ElicitResult, error) {
	if s.left.Err() != nil {
		return nil, notSent(context.Cause(s.left))
	}
	m := &message{ID: newID(), Method: "elicitation/create", Params: encoded(form)}
	ask := func() error {
		s.out(m, about)
		s.handed(m.id())
		return nil
	}
	answer, err := s.requests.await(ctx, &request{message: m}, ask, func() { s.out(cancellation(m.ID, "the question is over"), about) })
	if err != nil && ctx.Err() != nil {
		err = notSent(err)
	}
	if err != nil {
		return nil, err
	}
	res := new(mcp.ElicitResult)
	if err := decode(answer.Result, res); err != nil {
		return nil, fmt.Errorf("proxy: the client's answer to the form cannot be read: %w", err)
	}
	return res, nil
}

// SendCall sends a call to the server and returns its result. It is the executor of the server's tools in the catalog. The
// policy is asked for the last time here, after all waits: the guard's for a list of tools, and that for a server which is
// started again.
func (s *server) SendCall(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	c := callIn(ctx)
	if c == nil {
		return nil, notSent(errors.New("proxy: nothing has asked the policy about the call")) // no way leads here
	}
	method, params, err := s.encode(c, call)
	if err != nil {
		return nil, notSent(err)
	}
	l, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.session.proxy.room.toSend(ctx, s.session.caller.User); err != nil {
		return nil, err
	}
	call.Tool = c.set.plan.ruling(ctx, call.Tool).Raised(call.Tool)
	if err := c.set.refuse(ctx, call.Tool); err != nil {
		return nil, err
	}
	if err := s.session.send(c.underWay); err != nil {
		return nil, err
	}
	m, err := s.exchangeCall(ctx, l, c, call, method, params)
	if two, ok := errors.AsType[*ambiguousError](err); ok {
		return nil, mount.Unread(call, two.raw, err)
	}
	if err != nil {
		return nil, err
	}
	w := m.read
	if c.updates != nil { // its answer reports that the task has the input, and the task goes on
		w = &written{res: new(mcp.CallToolResult), raw: m.Result, kind: "task"}
	}
	if w == nil {
		if err := mount.OneResult(m.Result); err != nil {
			return nil, mount.Unread(call, m.Result, &ambiguousError{fmt.Errorf("proxy: the answer can be read in two ways: %w", err), m.Result})
		}
		if w, err = readResult(m.Result); err != nil {
			return nil, mount.Unread(call, m.Result, fmt.Errorf("proxy: it was handed on as it is: %w", err))
		}
	}
	w.arguments = call.Arguments
	c.answer.Store(w)
	if w.goesOn() { // the chain gets its type, and nothing to cache or to trim
		err = json.Unmarshal(fmt.Appendf(nil, `{"content":[],"resultType":%s}`, quoted(w.kind)), w.res)
	}
	return w.res, err
}

// encode returns the method and the params by which a call is sent.
func (s *server) encode(c *clientCall, call middleware.Call) (method string, params json.RawMessage, err error) {
	switch {
	case c.updates == nil:
		params, err = encodeCall(call)
		return methodCallTool, params, err
	case c.updates.of != s || call.Input == nil:
		return "", nil, errors.New("proxy: the task is another server's")
	}
	update := map[string]any{"taskId": c.updates.remote, "inputResponses": call.Input.Responses}
	if len(call.Meta) > 0 {
		update["_meta"] = call.Meta
	}
	params, err = encode(update)
	return methodUpdateTask, params, err
}

// CallTool is not called, since the catalog sends calls by SendCall.
func (s *server) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return nil, notSent(errors.New("proxy: the call came without its tool"))
}

// inputRequired is what an error has that asks the maker of the call for input.
type inputRequired interface {
	error
	InputRequired() (requests mcp.InputRequestMap, state string)
}
