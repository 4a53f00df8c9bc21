package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call is what a planner wants called, and once it was made what became of it.
type call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // in the end those that were sent, which a person may have edited
	why       string          // for the person who is asked

	edited bool
	result *mcp.CallToolResult
	err    error         // nil if there is a result
	record chain.Record  // what the chain did
	took   time.Duration // without the time that a person took
}

// outcome names what came of the call; "unknown" may or may not have happened.
func (c *call) outcome() string {
	_, unknown := errors.AsType[*middleware.OutcomeUnknownError](c.err)
	switch {
	case c.result == nil && c.err == nil:
		return "not_sent" // the run was interrupted
	case c.err == nil && c.result.IsError:
		return "tool_error"
	case c.err == nil:
		return "ok"
	case errors.Is(c.err, hitl.ErrDenied):
		return "denied"
	case unknown:
		return "unknown"
	case middleware.NotSent(c.err):
		return "refused"
	}
	return "failed"
}

func (c *call) text() string {
	if c.err != nil {
		return c.err.Error()
	}
	return output.Text(c.result)
}

// do makes the calls of one turn, side by side if that is harmless, and prints them in their order.
func (h *host) do(ctx context.Context, calls ...*call) {
	var known []*call
	var turn []middleware.Call
	h.turn = map[string]*call{}
	for _, c := range calls {
		tool, err := h.tools.Find(c.Tool)
		if err != nil {
			c.err = err
			h.counts.failed++
			h.problem(err.Error())
			continue
		}
		id := fmt.Sprintf("call-%d", h.counts.Calls+len(turn)+1)
		h.turn[id] = c
		known, turn = append(known, c), append(turn, middleware.Call{ID: id, Tool: tool, Arguments: c.Arguments})
	}
	for i, o := range batch.Run(ctx, h.caller, turn) {
		known[i].result, known[i].err = o.Result, o.Err
		h.counts.add(known[i])
		h.showCall(known[i])
	}
}

// watch is the outermost middleware. On the way out it asks what the chain did.
func (h *host) watch(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, asked middleware.Call) (*mcp.CallToolResult, error) {
		start := time.Now()
		res, err := next.CallTool(ctx, asked)
		c := h.turn[asked.ID]
		c.record, _ = chain.RecordOf(ctx)
		c.took = time.Since(start) - c.record.Waited
		return res, err
	})
}

// approved is a middleware between the approval and the cache, which sees the call as approved.
func (h *host) approved(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, approved middleware.Call) (*mcp.CallToolResult, error) {
		c := h.turn[approved.ID]
		c.edited = string(c.Arguments) != string(approved.Arguments)
		c.Arguments = approved.Arguments
		return next.CallTool(ctx, approved)
	})
}

type counts struct {
	Calls       int `json:"calls"`
	ServerCalls int `json:"server_calls"`
	CacheHits   int `json:"cache_hits"`
	Retries     int `json:"retries"`
	Asked       int `json:"asked"`
	Allowed     int `json:"allowed"`
	Denied      int `json:"denied"`
	Waited      int `json:"waited"`
	Limited     int `json:"limited"`
	Unknown     int `json:"unknown"`
	failed      int // calls that could not be made
}

func (n *counts) add(c *call) {
	n.Calls++
	if c.record.Cached {
		n.CacheHits++
	}
	n.ServerCalls += c.record.Attempts
	n.Retries += max(0, c.record.Attempts-1)
	figures := map[string]*int{"hitl allowed": &n.Allowed, "hitl denied": &n.Denied, "ratelimit waited": &n.Waited}
	for _, d := range c.record.Decisions {
		if figure := figures[d.Stage+" "+d.What]; figure != nil {
			*figure++
		}
	}
	n.Asked = n.Allowed + n.Denied
	switch {
	case c.outcome() == "unknown":
		n.Unknown++
	case errors.Is(c.err, ratelimit.ErrLimited):
		n.Limited++
		n.ServerCalls-- // it was turned away before it was sent
	case c.outcome() == "failed", c.outcome() == "refused":
		n.failed++
	}
}
