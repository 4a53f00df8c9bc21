package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callTool answers tools/call: by the chain.
func (s *session) callTool(ctx context.Context, m *message) (*message, bool) {
	p, err := readCall(m.Params)
	if err != nil {
		err = invalid("proxy: the params of tools/call are refused: " + err.Error())
		s.recordRefusal(ctx, m, textOf(m.Params, "name"), nil, err)
		return m.failTo(wireError(err)), true
	}
	set, tool, err := s.tools.find(ctx, p.Name, m.id())
	if err != nil {
		if !middleware.NotSent(err) { // whatever became of the list
			err = notSent(err)
		}
		s.recordRefusal(ctx, m, p.Name, tool, err)
		return s.refused(ctx, m, middleware.Call{}, err)
	}
	call := middleware.Call{ID: m.id(), Scope: s.scope, Tool: tool, Arguments: p.Arguments, Meta: p.Meta}
	if p.InputResponses != nil || p.RequestState != "" {
		call.Input = &middleware.Input{Responses: p.InputResponses, State: p.RequestState}
	}
	last := &underWayIn(ctx).last
	ctx = elicit.WithRequest(ctx, s.request(p))
	if takesTasks(m) {
		inTask := ctx
		ctx = context.WithValue(ctx, waitingKey{}, waiter{detaches: true, report: func(time.Duration) { s.detach(inTask, m, s.proxy.o.Waits(inTask)) }})
	} else if token := m.meta["progressToken"]; token != nil {
		ctx = context.WithValue(ctx, waitingKey{}, waiter{report: func(waited time.Duration) { // less than 1, since the server's progress comes after it
			s.out(&message{Method: "notifications/progress", Params: fmt.Appendf(nil,
				`{"progressToken":%s,"progress":%.5f,"message":"waiting for a person's approval"}`, token, waited.Hours())}, m.id())
		}})
	}
	if s.version.value() != "" { // it takes requests
		ctx = elicit.WithElicit(ctx, func(ctx context.Context, form *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return s.elicit(ctx, form, m.id())
		})
	}
	res, err := set.caller.CallTool(ctx, call)
	switch {
	case err != nil && last.Load().goesOn() && ctx.Err() == nil:
		s.goesOn(call, last.Load().raw)
		return m.replyTo(last.Load().raw), true
	case err != nil:
		return s.refused(ctx, m, call, err)
	case last.Load() != nil && last.Load().res == res: // nothing in the chain has touched it
		return m.replyTo(last.Load().raw), true
	}
	return m.resultTo(res), true
}

type waitingKey struct{} // of a waiter

// A waiter is what a client gets while its call waits for a person.
type waiter struct {
	report   func(waited time.Duration)
	detaches bool // report answers the request with a task, so that the call can wait as long as its question
}

// written is an answer as a server wrote it.
type written struct {
	res  *mcp.CallToolResult
	raw  json.RawMessage
	kind string
}

// goesOn reports whether the server answered with a task, or with something else that only
// the client may know how to read.
func (w *written) goesOn() bool {
	return w != nil && w.kind != "" && w.kind != "complete" && w.kind != "input_required"
}

// resultTo answers a request with a result of ours.
func (m *message) resultTo(result any) *message {
	raw, err := json.Marshal(result)
	if err != nil {
		return m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "proxy: the result cannot be written: " + err.Error()})
	}
	return m.replyTo(raw)
}

// refused makes an answer of an error. An error of the server is passed on in the server's words;
// a question is asked; the rest becomes a result that the model can read.
func (s *session) refused(ctx context.Context, m *message, call middleware.Call, err error) (*message, bool) {
	if !listens(ctx) {
		return nil, false
	}
	ctx = context.WithoutCancel(ctx)
	if unread, ok := errors.AsType[*unreadableError](err); ok {
		return m.replyTo(unread.raw), true
	}
	if reply, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return m.failTo(reply), true
	}
	if asks, ok := errors.AsType[inputRequired](err); ok {
		requests, state := asks.InputRequired()
		return m.resultTo(map[string]any{"resultType": "input_required", "content": []any{}, "inputRequests": requests, "requestState": state}), true
	}
	res, err := s.proxy.explain(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, err
	})).CallTool(ctx, call)
	if err != nil {
		return nil, false // nobody waits any more
	}
	if call.Tool != nil && len(s.servers) == 1 { // the model has its name without the server
		for _, c := range res.Content {
			if said, ok := c.(*mcp.TextContent); ok {
				said.Text = strings.ReplaceAll(said.Text, call.Tool.ModelName(), call.Tool.Name())
			}
		}
	}
	return m.resultTo(res), true
}

// request is the client's request as the links that speak to clients know it.
func (s *session) request(p *mcp.CallToolParamsRaw) *mcp.CallToolRequest {
	params := *p
	if version, _ := p.Meta[mcp.MetaKeyProtocolVersion].(string); version == "" {
		params.Meta = maps.Clone(p.Meta)
		params.Meta[mcp.MetaKeyProtocolVersion] = s.version.value()
		maps.Copy(params.Meta, s.client.value())
	}
	return &mcp.CallToolRequest{Params: &params}
}

// elicit puts a form to the client's user while the call waits.
func (s *session) elicit(ctx context.Context, form *mcp.ElicitParams, about string) (*mcp.ElicitResult, error) {
	m := &message{ID: s.proxy.newID(), Method: "elicitation/create", Params: encoded(form)}
	ask := func() error {
		s.out(m, about)
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
	if err := json.Unmarshal(answer.Result, res); err != nil {
		return nil, fmt.Errorf("proxy: the client's answer to the form cannot be read: %w", err)
	}
	return res, nil
}

// CallTool sends a call to the server, for the catalogue.
func (s *server) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	params, err := encodeCall(p)
	if err != nil {
		return nil, notSent(err)
	}
	u := underWayIn(ctx)
	if s.URL != "" {
		ctx = context.WithValue(ctx, schemaKey{}, s.tools.schema(p.Name))
	}
	if err := s.session.send(u); err != nil {
		return nil, err
	}
	m, err := s.exchange(ctx, nil, methodCallTool, params, u.about)
	if err != nil {
		return nil, err
	}
	w := m.read
	if w == nil {
		if w, err = readResult(m.Result); err != nil {
			return nil, &unreadableError{fmt.Errorf("proxy: the answer of %s/%s is none that is known (%w); it was handed on as it is", s.Name, p.Name, err), m.Result}
		}
	}
	u.last.Store(w)
	if w.goesOn() { // the chain gets its type, and nothing to cache or to trim
		err = json.Unmarshal(fmt.Appendf(nil, `{"content":[],"resultType":%s}`, quoted(w.kind)), w.res)
	}
	return w.res, err
}

// readResult reads a result, and its type as the server names it.
func readResult(raw json.RawMessage) (*written, error) {
	if w := scanResult(raw); w != nil {
		return w, nil
	}
	w := &written{new(mcp.CallToolResult), raw, ""}
	var typed struct {
		ResultType string `json:"resultType"`
	}
	err := json.Unmarshal(raw, &typed)
	if err == nil {
		err = json.Unmarshal(raw, w.res)
	}
	w.kind = typed.ResultType
	return w, err
}

// An unreadableError is an answer of a server's that only its client may know how to
// read. It is handed on as it is, and nothing is made of it.
type unreadableError struct {
	error

	raw json.RawMessage
}

func (e *unreadableError) Unwrap() error { return e.error }

// Permanent reports that the same call would only be answered like that again.
func (e *unreadableError) Permanent() bool { return true }

// inputRequired is what an error has that asks the maker of the call for input.
type inputRequired interface {
	error
	InputRequired() (requests mcp.InputRequestMap, state string)
}

// A task is a call that goes on after the response to its request, by the extension io.modelcontextprotocol/tasks:
// one of ours, which waits for a person, or one of a server's, whose outcome tasks/get returns. The session's
// mutex guards it.
type task struct {
	of     *server         // nil for one of ours
	call   middleware.Call // of a server's task, without its Meta and Input
	over   bool            // its outcome is known
	id     string          // of one of ours, and when it began
	began  time.Time
	cancel context.CancelCauseFunc
	input  chan map[string]json.RawMessage
	rounds int            // of input so far
	shown  map[string]any // its members, as tasks/get returns them
}

const (
	extensionTasks = "io.modelcontextprotocol/tasks"
	taskPrefix     = "fairlead-task-"
	// taskKept is how long a task of ours is kept after its end, and serverTaskKept how long one of a
	// server's, as long as a call is in doubt.
	taskKept       = time.Hour
	serverTaskKept = 24 * time.Hour
	taskPoll       = 5 * time.Second
)

// takesTasks reports whether the client that made a request takes a task as its response.
func takesTasks(m *message) bool {
	return members(members(m.meta[mcp.MetaKeyClientCapabilities])["extensions"])[extensionTasks] != nil
}

// declared returns the result of server/discover with the extension in it.
func declared(result json.RawMessage) json.RawMessage {
	capabilities := members(result)["capabilities"]
	extensions := withMember(members(capabilities)["extensions"], extensionTasks, struct{}{})
	return withMember(result, "capabilities", withMember(capabilities, "extensions", extensions))
}

// detach answers the request of a call that waits for a person with a task.
func (s *session) detach(ctx context.Context, m *message, where string) {
	u := underWayIn(ctx)
	s.mu.Lock()
	if u.over || u.task != nil || ctx.Err() != nil || len(s.tasks) >= maxRunning {
		s.mu.Unlock()
		return
	}
	id, now := taskPrefix+rand.Text(), time.Now()
	u.task = &task{id: id, began: now, cancel: u.cancel, input: make(chan map[string]json.RawMessage, 1), shown: map[string]any{
		"taskId": id, "createdAt": now.UTC().Format(time.RFC3339), "ttlMs": nil, "pollIntervalMs": taskPoll.Milliseconds(),
	}}
	u.task.becomes("working", strings.TrimRight("The call waits for a person's approval "+where, " ,")+".")
	s.tasks[id] = u.task
	delete(s.running, m.id())
	s.running[id] = u
	created := u.task.result("task")
	s.mu.Unlock()
	s.forgetToken(m)
	s.reply(m.replyTo(created))
}

func (t *task) becomes(status, message string) {
	t.shown["status"], t.shown["statusMessage"], t.shown["lastUpdatedAt"] = status, message, time.Now().UTC().Format(time.RFC3339)
	delete(t.shown, "inputRequests")
}

func (t *task) result(kind string) json.RawMessage {
	return withMember(encoded(t.shown), "resultType", kind)
}

// more waits for the input that the call of a task needs, and returns the call with it; nil means that it has ended.
func (s *session) more(ctx context.Context, u *underWay, m, res *message) *message {
	s.mu.Lock()
	t := u.task
	s.mu.Unlock()
	if t == nil || res == nil || textOf(res.Result, "resultType") != "input_required" {
		return nil
	}
	asks := members(res.Result)
	s.mu.Lock()
	t.rounds++
	requests := make(map[string]json.RawMessage) // no key may come twice in a task
	for key, request := range members(asks["inputRequests"]) {
		requests[strconv.Itoa(t.rounds)+" "+key] = request
	}
	t.becomes("input_required", "The call needs input.")
	t.shown["inputRequests"] = requests
	s.mu.Unlock()
	select {
	case responses := <-t.input:
		m = m.with("inputResponses", responses)
		if state := asks["requestState"]; state != nil {
			m = m.with("requestState", state)
		}
		return m
	case <-ctx.Done():
		return nil
	}
}

// ended keeps the response of a call if it became a task, and reports whether the client still waits for it.
func (s *session) ended(u *underWay, m, res *message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.over = true
	t := u.task
	if t == nil {
		delete(s.running, m.id())
		return true
	}
	delete(s.running, t.id)
	switch {
	case res == nil && u.sent:
		t.becomes("cancelled", "The call had been sent, and may have happened.")
	case res == nil:
		t.becomes("cancelled", "The call was not sent.")
	case res.Error != nil:
		t.becomes("failed", textOf(res.Error, "message"))
		t.shown["error"] = res.Error
	default:
		t.becomes("completed", "")
		t.shown["result"] = res.Result
	}
	t.shown["ttlMs"] = (time.Since(t.began) + taskKept).Milliseconds()
	s.forgetTask(t.id, taskKept)
	return false
}

func (s *session) forgetTask(id string, after time.Duration) {
	time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tasks, id)
	})
}

// aboutTask answers a request about a task that is known, and reports whether it has.
func (s *session) aboutTask(m *message) bool {
	verb, is := strings.CutPrefix(m.Method, "tasks/")
	if !is || !m.isRequest() {
		return false
	}
	id := textOf(m.Params, "taskId")
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	switch {
	case t != nil && t.of != nil:
		s.begin(m, answerBy(func(ctx context.Context, m *message) (json.RawMessage, error) {
			raw, err := t.of.ask(ctx, m)
			if err == nil && verb == "get" {
				s.learn(raw)
			}
			return raw, err
		}))
	case t == nil && len(s.servers) == 1 && !strings.HasPrefix(id, taskPrefix):
		return false
	case !takesTasks(m):
		s.reply(m.failTo(&jsonrpc.Error{
			Code: mcp.CodeMissingRequiredClientCapabilities, Message: "proxy: the request does not declare " + extensionTasks,
			Data: fmt.Appendf(nil, `{"requiredCapabilities":{"extensions":{%q:{}}}}`, extensionTasks),
		}))
	case t == nil:
		s.reply(m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "proxy: this task is not known, or not any more; " +
			"make the call again, which asks for its approval or takes the decision that was made meanwhile"}))
	default:
		s.reply(s.ourTask(m, t, verb))
	}
	return true
}

func (s *session) ourTask(m *message, t *task, verb string) *message {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch verb {
	case "get":
		return m.replyTo(t.result("complete"))
	case "cancel":
		t.cancel(&cancelledError{})
	case "update":
		responses := make(map[string]json.RawMessage)
		for key, response := range members(members(m.Params)["inputResponses"]) {
			if round, name, _ := strings.Cut(key, " "); round == strconv.Itoa(t.rounds) {
				responses[name] = response
			}
		}
		if t.shown["status"] == "input_required" && len(responses) > 0 {
			t.becomes("working", "")
			t.input <- responses // it has room for one, which is taken before more are asked for
		}
	default:
		return m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "proxy: there is no method " + strconv.Quote(m.Method)})
	}
	return m.replyTo(json.RawMessage(`{"resultType":"complete"}`))
}

// goesOn keeps the call that a server goes on with as a task.
func (s *session) goesOn(call middleware.Call, raw json.RawMessage) {
	id := textOf(raw, "taskId")
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" || s.tasks[id] != nil || len(s.tasks) >= maxRunning {
		return
	}
	for _, one := range s.servers {
		if one.Name == call.Tool.Server {
			call.Meta, call.Input = nil, nil
			s.tasks[id] = &task{of: one, call: call}
			s.forgetTask(id, serverTaskKept)
		}
	}
}

// learn settles the call of a server's task that has ended, so that it is not in doubt any more, and records what
// came of it. One that was cancelled may have happened in part.
func (s *session) learn(raw json.RawMessage) {
	status := textOf(raw, "status")
	s.mu.Lock()
	t := s.tasks[textOf(raw, "taskId")]
	known := t == nil || t.of == nil || t.over || status != "completed" && status != "failed"
	if !known {
		t.over = true
	}
	s.mu.Unlock()
	if known {
		return
	}
	end := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (res *mcp.CallToolResult, err error) {
		s.proxy.o.Doubt.Settle(ctx, call, "its task")
		trusted, failure := s.proxy.plan().policy.TrustsResults(call.Tool), members(raw)["error"]
		if status == "failed" {
			s.proxy.tracker.Result(call.Scope, call, nil, fmt.Errorf("%s %s", textOf(failure, "message"), failure), trusted)
			return nil, fmt.Errorf("proxy: the task of the server %q has failed: %.200s", t.of.Name, failure)
		}
		w, err := readResult(members(raw)["result"])
		s.proxy.tracker.Result(call.Scope, call, w.res, err, trusted)
		return w.res, err
	})
	if s.proxy.trail != nil {
		end = s.proxy.trail.Record(end).CallTool
	}
	_, _ = end(s.ctx, t.call) // the record has what came of it
}

// Fallback asks the first; where that one's client cannot be asked, the next.
func Fallback(confirmers ...hitl.Confirmer) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		var none error
		for _, c := range confirmers {
			decision, err := c.Confirm(ctx, r)
			if !errors.Is(err, elicit.ErrUnsupported) {
				return decision, err
			}
			none = errors.Join(none, err)
		}
		return hitl.Decision{}, none
	})
}

// First asks all at once, and the first answer wins. An error or a panic is not an answer. A client
// that is asked by the end of its call, and repeats it with the answer, is asked alone. None is nil.
func First(confirmers ...hitl.Confirmer) hitl.Confirmer {
	switch len(confirmers) {
	case 0:
		return nil
	case 1:
		return confirmers[0]
	}
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		if r.Input != nil { // the middlewares further out do not have its meaning
			return Fallback(confirmers...).Confirm(ctx, r)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		answers := make(chan answered, len(confirmers))
		for _, c := range confirmers {
			go func() {
				a := answered{err: fmt.Errorf("proxy: %T panicked", c)}
				defer func() {
					_ = recover()
					answers <- a
				}()
				own := r
				own.Arguments = bytes.Clone(r.Arguments)
				a.decision, a.err = c.Confirm(ctx, own)
			}()
		}
		var none error
		for range confirmers {
			got := <-answers
			if _, pending := errors.AsType[*hitl.PendingError](got.err); got.err == nil || pending {
				return got.decision, got.err
			}
			none = errors.Join(none, got.err)
		}
		return hitl.Decision{}, none
	})
}

type answered struct {
	decision hitl.Decision
	err      error
}
