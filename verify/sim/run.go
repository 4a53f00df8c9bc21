package sim

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An endError is the cause of the end of one call's context.
type endError struct {
	call string
	how  error
}

func (e *endError) Error() string { return e.call + ": " + e.how.Error() }
func (e *endError) Unwrap() error { return e.how }

func (w *scenario) run(r *record) {
	tool, ok := w.tools.Lookup(r.server, r.tool.name)
	if !ok {
		return // its server has dropped it, which the host has seen
	}
	ctx, cancel := w.context(context.Background(), r)
	defer cancel()
	w.begin(r, tool)
	_, _ = w.make(ctx, r, w.call(r, tool))
}

// make makes a call that has begun, and checks what comes back.
func (w *scenario) make(ctx context.Context, r *record, call middleware.Call) (*mcp.CallToolResult, error) {
	returned := false
	defer func() { // the goroutine may end inside the call
		if !returned {
			w.gone(r, recover())
		}
	}()
	caller := w.caller
	if r.narrow {
		caller = w.narrow
	}
	res, err := caller.CallTool(ctx, call)
	returned = true
	w.end(ctx, r, res, err)
	if r.scribbles {
		scribble(r.sent, call.Meta, res)
	}
	return res, err
}

func (w *scenario) context(ctx context.Context, r *record) (context.Context, context.CancelFunc) {
	cancel := context.CancelFunc(func() {})
	if r.timeout > 0 {
		r.deadline = time.Now().Add(r.timeout)
		ctx, cancel = context.WithDeadlineCause(ctx, r.deadline, &endError{r.id, context.DeadlineExceeded})
	}
	if r.cancelAfter == 0 {
		return ctx, cancel
	}
	ctx, stop := context.WithCancelCause(ctx)
	timer := time.AfterFunc(r.cancelAfter, func() {
		w.mu.Lock()
		if r.ended.IsZero() && ctx.Err() == nil {
			r.cancelled = time.Now()
			w.say(r.id, "cancelled", "")
		}
		w.mu.Unlock()
		stop(&endError{r.id, context.Canceled})
	})
	return ctx, func() { timer.Stop(); cancel(); stop(errors.New("over")) }
}

// scribble writes over the caller's buffer, metadata and answer once its call has returned.
func scribble(sent []byte, meta mcp.Meta, res *mcp.CallToolResult) {
	for i := range sent {
		sent[i] = 'Z'
	}
	meta[traceKey] = "scribbled"
	if res == nil {
		return
	}
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			text.Text = "scribbled"
		}
	}
	if m, ok := res.StructuredContent.(map[string]any); ok {
		m["text"] = "scribbled"
		if list, ok := m["list"].([]any); ok {
			list[0] = "scribbled"
		}
	}
	res.IsError = true
}
