package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/agent/screen"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watch stands in the place of telemetry: it sees every call as the planner made
// it, and what came of it as it is.
func (h *host) watch(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		l := h.lines.find(call.ID)
		if l == nil {
			return next.CallTool(ctx, call)
		}
		start := time.Now()
		res, err := next.CallTool(context.WithValue(ctx, lineKey{}, l), call)
		took := time.Since(start)
		l.came = &came{res, err}
		h.note(l, call, outcome(plan.Request{}, res, err), took)
		return res, err
	})
}

// attempts is the innermost middleware: it sees what goes to the executor.
func attempts(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if l := lineOf(ctx); l != nil {
			l.write(func() { l.tries, l.sent = l.tries+1, call.Arguments })
		}
		return next.CallTool(ctx, call)
	})
}

// note shows the line of a call that has ended, once those before it are shown, and
// counts it.
func (h *host) note(l *line, call middleware.Call, o plan.Outcome, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shown := screen.Call{
		Tool: call.Tool.Name(), Arguments: l.sent, State: o.State,
		From: "server", Tries: l.tries, Waited: l.waited, Took: took - l.thought, By: l.by,
		Edited: !bytes.Equal(l.sent, call.Arguments), Result: o.Result, Trouble: trouble(o),
	}
	switch {
	case l.memory:
		shown.From = "memory"
	case l.tries == 0, l.tries == 1 && middleware.NotSent(o.Err):
		shown.From = "nowhere"
	}
	if l.asked > 0 {
		shown.Answer = "denied"
		if l.approved == l.asked {
			shown.Answer = "allowed"
		}
	}
	h.count(l, o)
	h.lines.show(l, shown, h.screen.Call)
}

func (h *host) count(l *line, o plan.Outcome) {
	h.counting.Lock()
	defer h.counting.Unlock()
	c := &h.counts
	c.Calls++
	c.ServerCalls += l.tries
	c.Retries += l.retries
	c.Asked += l.asked
	c.Allowed += l.approved
	c.Denied += l.asked - l.approved
	c.CacheHits += one(l.memory)
	c.Waited += one(l.waited > 0)
	c.Limited += one(o.State == plan.Limited)
	c.Unknown += one(o.State == plan.Unknown)
	h.refused += one(o.State == plan.Denied)
	h.errored += one(o.State == plan.Errored)
	if errors.Is(o.Err, mcp.ErrConnectionClosed) || errors.Is(o.Err, io.EOF) {
		h.lost = errEnded
	}
}

var errEnded = errors.New("it ended in the middle of the run")

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// trouble is what a person reads of a call without an answer.
func trouble(o plan.Outcome) string {
	var denied *hitl.DeniedError
	var unknown *middleware.OutcomeUnknownError
	switch {
	case o.Err == nil:
		return ""
	case errors.As(o.Err, &denied) && denied.Err != nil:
		return denied.Err.Error()
	case errors.As(o.Err, &denied) && denied.Reason != "":
		return denied.Reason
	case errors.As(o.Err, &denied):
		return "you said no"
	case errors.As(o.Err, &unknown):
		return "it may have happened: " + unknown.Err.Error()
	}
	return o.Err.Error()
}

// marks is a log handler that writes what the chain's rooms say on the line of
// the call that they say it of.
type marks struct{}

func (marks) Enabled(context.Context, slog.Level) bool { return true }
func (m marks) WithAttrs([]slog.Attr) slog.Handler     { return m }
func (m marks) WithGroup(string) slog.Handler          { return m }
func (marks) Handle(ctx context.Context, r slog.Record) error {
	l := lineOf(ctx)
	if l == nil {
		return nil
	}
	attr := func(key string) (v slog.Value) {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == key {
				v = a.Value
			}
			return a.Key != key
		})
		return v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r.Message {
	case "cache: hit", "cache: joined":
		l.memory = true
	case "retry: again":
		l.retries++
	case "ratelimit: waiting":
		l.waited += attr("wait").Duration()
	case "hitl: asked":
		l.asked++
		l.since = r.Time
	case "hitl: decided":
		l.thought += r.Time.Sub(l.since)
		l.approved += one(attr("outcome").String() == "approved")
	}
	return nil
}
