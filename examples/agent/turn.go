package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/batch"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call is what a planner wants called, and once it was made what became of it.
type call struct {
	tool      string
	arguments json.RawMessage // in the end those that were sent, which a person may have edited
	why       string          // for the person who is asked

	edited bool
	result *mcp.CallToolResult
	err    error        // nil if there is a result
	record audit.Record // what the chain did
}

// done reports whether the call was made and the tool did what it should.
func (c *call) done() bool { return c.err == nil && !c.result.IsError }

// text returns what a planner or a person reads of the outcome.
func (c *call) text() string {
	if c.err != nil {
		return c.err.Error()
	}
	return output.Text(c.result)
}

// do makes the calls of one turn through the chain, side by side if that is
// harmless, and prints them in their order.
func (h *host) do(ctx context.Context, calls ...*call) {
	var known []*call
	var turn []middleware.Call
	for _, c := range calls {
		tool, err := h.tools.Find(c.tool)
		if err != nil {
			c.err = err
			h.counts.failed++
			h.problem(err.Error())
			continue
		}
		h.made++
		id := "call-" + strconv.Itoa(h.made)
		h.calls.Store(id, c)
		known, turn = append(known, c), append(turn, middleware.Call{ID: id, Tool: tool, Arguments: c.arguments})
	}
	for i, o := range batch.Run(ctx, h.caller, turn) {
		known[i].result, known[i].err = o.Result, o.Err
		h.counts.add(known[i])
		h.showCall(known[i])
	}
	h.calls.Clear()
}

// watch is a middleware between the approval and the cache. It sees the call as it
// was approved.
func (h *host) watch(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, approved middleware.Call) (*mcp.CallToolResult, error) {
		if v, ok := h.calls.Load(approved.ID); ok {
			c := v.(*call)
			c.edited = string(c.arguments) != string(approved.Arguments)
			c.arguments = approved.Arguments
		}
		return next.CallTool(ctx, approved)
	})
}

// Write implements [audit.Sink]: the host is told what the chain did with each call.
func (h *host) Write(ctx context.Context, r audit.Record) error {
	if c, ok := h.calls.Load(r.Call); ok && r.Kind == audit.End {
		c.(*call).record = r
	}
	if h.file == nil {
		return nil
	}
	return h.file.Write(ctx, r)
}

// counts are the figures of a run.
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
	if c.record.From == "memory" {
		n.CacheHits++
	}
	n.ServerCalls += c.record.Attempts
	n.Retries += max(0, c.record.Attempts-1)
	for _, d := range c.record.Decisions {
		switch d.Room + " " + d.What {
		case "hitl allowed":
			n.Allowed++
		case "hitl denied":
			n.Denied++
		case "ratelimit waited":
			n.Waited++
		}
	}
	n.Asked = n.Allowed + n.Denied
	switch {
	case c.record.Outcome == audit.Unknown:
		n.Unknown++
	case errors.Is(c.err, ratelimit.ErrLimited):
		n.Limited++
		n.ServerCalls-- // it was turned away before it was sent
	case c.err != nil && c.record.Outcome != audit.Denied:
		n.failed++
	}
}
