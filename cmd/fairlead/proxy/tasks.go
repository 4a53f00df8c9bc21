package proxy

// The extension io.modelcontextprotocol/tasks lets a request be answered by a task, whose outcome the client asks for
// later. A call that waits for a person becomes one of ours if its client takes tasks: its request is answered, the call
// goes on in the chain, and the client polls it with tasks/get. A server may answer a call by a task of its own. It is
// passed on; the call is in doubt from then on, and is settled when the client learns the task's end from the server.
//
// The IDs of our tasks begin with taskPrefix, and so do those that the tasks of several servers have at the client. Tasks
// of one client cannot be asked for by another, since each session has its own.

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A task is a call that goes on after the response to its request, by the extension io.modelcontextprotocol/tasks:
// one of ours, which waits for a person, or one of a server's, whose outcome tasks/get returns. The session's
// mutex guards it.
type task struct {
	of     *server         // nil for one of ours
	call   middleware.Call // of a server's task, without its Meta, Input and Params
	sent   json.RawMessage // its arguments, which a person may have edited
	over   bool            // its outcome is known
	id     string          // at the client
	remote string          // at the server, whose it is
	token  json.RawMessage // of its progress
	began  time.Time       // one of ours
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
	// maxTasks is how many tasks a session keeps of each server, and of its own.
	maxTasks = 10_000
)

// takesTasks reports whether the client that made a request takes a task as its response.
func takesTasks(m *message) bool {
	return member(member(m.meta[mcp.MetaKeyClientCapabilities], "extensions"), extensionTasks) != nil
}

// declared returns the result of server/discover with the extension in it.
func declared(result json.RawMessage) json.RawMessage {
	capabilities := member(result, "capabilities")
	extensions := withMember(member(capabilities, "extensions"), extensionTasks, struct{}{})
	return withMember(result, "capabilities", withMember(capabilities, "extensions", extensions))
}

// detach answers the request of a call that waits for a person with a task.
func (s *session) detach(ctx context.Context, m *message, where string) {
	u := underWayIn(ctx)
	s.mu.Lock()
	if u.over || u.task != nil || ctx.Err() != nil || !s.roomForTask(nil) {
		s.mu.Unlock()
		return
	}
	id, now := taskPrefix+rand.Text(), time.Now()
	u.task = &task{id: id, began: now, cancel: u.cancel, input: make(chan map[string]json.RawMessage, 1), shown: map[string]any{
		"taskId": id, "createdAt": now.UTC().Format(time.RFC3339), "ttlMs": nil, "pollIntervalMs": taskPoll.Milliseconds(),
	}}
	u.task.becomes("working", strings.TrimRight("The call waits for a person's approval "+where, " ,")+".")
	s.tasks[id], s.tasksOf[nil] = u.task, s.tasksOf[nil]+1
	delete(s.running, m.id())
	s.running[id] = u
	created := u.task.result("task")
	s.mu.Unlock()
	s.forgetToken(m)
	s.reply(m.replyTo(created))
}

// roomForTask reports whether one more task of a server is kept, or of ours for nil. The mutex is held.
func (s *session) roomForTask(of *server) bool {
	return s.tasksOf[of] < s.proxy.maxTasks
}

// becomes sets the status of a task. The session's mutex is held, as by result.
func (t *task) becomes(status, message string) {
	t.shown["status"], t.shown["statusMessage"], t.shown["lastUpdatedAt"] = status, message, time.Now().UTC().Format(time.RFC3339)
	delete(t.shown, "inputRequests")
}

// result returns the task as a result of this type.
func (t *task) result(kind string) json.RawMessage {
	return withMember(encoded(t.shown), "resultType", kind)
}

// more waits for the input that the call of a task needs, and returns the call with it; nil means that it has ended.
func (s *session) more(u *underWay, m, res *message) *message {
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
	case <-u.Done():
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

// forgetTask lets go of a task later.
func (s *session) forgetTask(id string, after time.Duration) {
	time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t := s.tasks[id]; t != nil {
			delete(s.tasks, id)
			s.tasksOf[t.of]--
		}
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
	known := t != nil && t.of != nil || t == nil && len(s.servers) == 1 && !strings.HasPrefix(id, taskPrefix)
	if why := carries(m); why != "" && known && verb != "update" {
		s.reply(m.failTo(wireError(invalid("proxy: the params of " + m.Method + " are refused: " + why))))
		return true
	}
	switch {
	case t != nil && t.of != nil && verb == "update":
		s.begin(m, func(ctx context.Context, m *message) (*message, bool) { return s.updateTask(ctx, m, t) })
	case t != nil && t.of != nil:
		s.begin(m, answerBy(func(ctx context.Context, m *message) (json.RawMessage, error) {
			raw, err := t.of.ask(ctx, m.with("taskId", t.remote))
			if err != nil {
				return nil, err
			}
			return s.ofTask(t, verb, raw)
		}))
	case t == nil && known && verb != "update": // its call is not known
		s.begin(m, answerBy(func(ctx context.Context, m *message) (json.RawMessage, error) {
			raw, err := s.servers[0].ask(ctx, m)
			s.servers[0].takeTask(m.Method, raw)
			return raw, err
		}))
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

// ofTask returns a server's answer to a request about its task as the client gets it. One that names another task, of its own
// or of anybody else, is about nothing that was asked.
func (s *session) ofTask(t *task, verb string, raw json.RawMessage) (json.RawMessage, error) {
	if id := member(raw, "taskId"); id != nil && textOf(raw, "taskId") != t.remote {
		t.of.log.Warn("proxy: a server was asked about a task, and its answer names another; the answer was left out",
			slog.String("method", "tasks/"+verb), slog.String("id", safetext.Line(safetext.Cut(string(id), 100))))
		return nil, fmt.Errorf("proxy: the server %q was asked about a task, and its answer is about another; what became of the task is not known", t.of.Name)
	}
	if verb != "get" || !s.settle(t, raw) {
		t.of.takeTask("tasks/"+verb, raw)
	}
	if t.id != t.remote && member(raw, "taskId") != nil {
		raw = withMember(raw, "taskId", t.id)
	}
	return raw, nil
}

// carries returns what the params of a request about a task have that a server could take for more than the name of the
// task, "" for nothing.
func carries(m *message) string {
	for name := range members(m.Params) {
		switch name {
		case "taskId", "cursor", "_meta":
		default:
			return fmt.Sprintf("the member %q is not known", name)
		}
	}
	if err := mount.OneReading(m.Params, "taskId", "cursor", "_meta"); err != nil {
		return err.Error()
	}
	return ""
}

// updateTask brings a server's task the input that it has asked for. The input is a part of the call: it passes the
// chain with the call's arguments, where it is judged, shown, asked about and recorded as the call itself was, and the
// server gets it from its SendCall.
func (s *session) updateTask(ctx context.Context, m *message, t *task) (*message, bool) {
	name := t.call.Tool.Name()
	if len(s.servers) > 1 {
		name = t.call.Tool.ModelName()
	}
	p, err := readUpdate(m.Params)
	if err != nil {
		err = invalid("proxy: the params of tasks/update are refused: " + err.Error())
		err = s.recordRefusal(ctx, m, middleware.Call{Tool: t.call.Tool, Arguments: m.Params}, err)
		return m.failTo(wireError(err)), true
	}
	set, tool, err := s.tools.find(ctx, name, m.id())
	if err != nil {
		err = s.recordRefusal(ctx, m, middleware.Call{Tool: cmp.Or(tool, s.calledBy(name)), Arguments: m.Params}, err)
		return m.failTo(wireError(err)), true
	}
	c := &clientCall{underWay: underWayIn(ctx), set: set, updates: t}
	call := middleware.Call{
		ID: t.call.ID, Scope: s.scope, Tool: tool, Arguments: t.sent, Meta: p.Meta,
		Input: &middleware.Input{Responses: p.InputResponses},
	}
	p.Name, p.Arguments = name, t.sent
	if ctx = elicit.WithRequest(c, s.request(p)); s.version.value() != "" {
		ctx = elicit.WithElicit(ctx, func(ctx context.Context, form *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return s.elicit(ctx, form, m.id())
		})
	}
	_, err = set.caller.CallTool(ctx, call)
	if w := c.answer.Load(); w.goesOn() && ctx.Err() == nil {
		return m.replyTo(w.raw), true
	}
	if err == nil { // of another layer than the server, which has not got the input
		err = errors.New("proxy: the input was not sent")
	}
	return m.failTo(wireError(err)), true
}

// ourTask answers a request about a task of ours.
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
		for key, response := range members(member(m.Params, "inputResponses")) {
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

// goesOn keeps the call that a server goes on with as a task, and returns its answer as the client gets it: with several
// servers each task has an ID of ours, since two of them may use the same.
func (s *session) goesOn(call middleware.Call, m *message, w *written) json.RawMessage {
	raw := w.raw
	remote := textOf(raw, "taskId")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.servers {
		if remote == "" || one.Name != call.Tool.Server || s.taskOfLocked(one, remote) != nil {
			continue
		}
		if !s.roomForTask(one) {
			one.log.Warn("proxy: the server has more tasks than the proxy keeps of it; the end of a call will not be known", slog.Int("kept", s.proxy.maxTasks))
			break
		}
		call.Meta, call.Input, call.Params = nil, nil, nil
		t := &task{of: one, call: call, id: remote, remote: remote, token: m.meta["progressToken"]}
		if t.sent = w.arguments; t.sent == nil {
			t.sent = call.Arguments
		}
		if len(s.servers) > 1 {
			t.id = taskPrefix + rand.Text()
			raw = withMember(raw, "taskId", t.id)
		}
		if t.token != nil { // it stays in use
			s.tokens.CompareAndSwap(string(t.token), tokenOf{about: m.id()}, tokenOf{task: one})
		}
		s.tasks[t.id], s.tasksOf[one] = t, s.tasksOf[one]+1
		s.forgetTask(t.id, serverTaskKept)
		break
	}
	return raw
}

// taskOf returns the task that a server has under this ID, nil for none of its own.
func (s *session) taskOf(of *server, remote string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taskOfLocked(of, remote)
}

func (s *session) taskOfLocked(of *server, remote string) *task {
	if len(s.servers) == 1 {
		if t := s.tasks[remote]; t != nil && t.of == of {
			return t
		}
		return nil
	}
	for _, t := range s.tasks {
		if t.of == of && t.remote == remote {
			return t
		}
	}
	return nil
}

// learn settles the call of a server's task that the server reports about. Only the server that has the task settles it.
func (s *session) learn(from *server, raw json.RawMessage) {
	if t := s.taskOf(from, textOf(raw, "taskId")); t != nil {
		s.settle(t, raw)
	}
}

// settle settles the call of a server's task that has ended, so that it is not in doubt any more, and records what came of
// it, once. It reports whether it did, and has taken in the result as that of the call. One that was cancelled may have
// happened in part.
func (s *session) settle(t *task, raw json.RawMessage) bool {
	status := textOf(raw, "status")
	s.mu.Lock()
	known := t.over || status != "completed" && status != "failed"
	if !known {
		t.over = true
	}
	if t.token != nil && (t.over || status == "cancelled") {
		s.tokens.CompareAndDelete(string(t.token), tokenOf{task: t.of})
	}
	s.mu.Unlock()
	if t.of != nil && status != "working" && status != "input_required" { // also a task that was cancelled
		s.proxy.changed(t.of.Name)
	}
	if known {
		return false
	}
	end := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (res *mcp.CallToolResult, err error) {
		s.proxy.o.Doubt.Settle(ctx, call, "its task")
		s.proxy.tracker.Result(call.Scope, call, nil, sourceError(raw), s.proxy.plan().policy.TrustsResults(call.Tool))
		if status == "failed" {
			return nil, fmt.Errorf("proxy: the task of the server %q has failed: %.200s", t.of.Name, member(raw, "error"))
		}
		w, err := readResult(member(raw, "result"))
		return w.res, err
	})
	if s.proxy.trail != nil {
		end = s.proxy.trail.Record(end).CallTool
	}
	_, _ = end(s.ctx, t.call) // the record has what came of it
	return true
}
