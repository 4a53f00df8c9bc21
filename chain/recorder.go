package chain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A recorder is an executor that counts, and answers as it is told.
type recorder struct {
	mu                sync.Mutex
	arrived, executed int
	last              *middleware.Tool
	err               error
	failed            bool
}

// The failures of the executor: after it may have acted, and before it left.
var (
	errLost         = errors.New("chain: lost, as Verify wants it")
	errUnsent error = unsentError{}
)

type unsentError struct{}

func (unsentError) Error() string { return "chain: not sent, as Verify wants it" }
func (unsentError) NotSent() bool { return true }

func (r *recorder) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.executed++
	if r.err != nil {
		return nil, r.err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: recorded}}, IsError: r.failed}, nil
}

// recorded is the text of every answer of a recorder.
const recorded = "chain: done, as Verify wants it"

// errTold stands for an error that the outer edge has made into a result.
var errTold = errors.New("chain: an error, as a model reads it")

// ours reports whether a result is a recorder's, whatever stands around its text.
func ours(res *mcp.CallToolResult) bool {
	return slices.ContainsFunc(res.Content, func(c mcp.Content) bool {
		text, ok := c.(*mcp.TextContent)
		return ok && strings.Contains(text.Text, recorded)
	})
}

func (r *recorder) answer(err error, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.failed = err, failed
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived, r.executed, r.last = 0, 0, nil
}

func (r *recorder) counts() (arrived, executed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived, r.executed
}

// classed reports whether the last call came with the class of a read.
func (r *recorder) classed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last.Safety() == annotation.Safe
}

// arrivals counts what is handed over, before the guard turns any of it away.
type arrivals struct {
	*recorder

	guarded middleware.ToolCaller
}

// Describe implements [middleware.Describer].
func (*arrivals) Describe() middleware.Description {
	return middleware.Description{Kind: kindGuard, Guards: true}
}

func (a *arrivals) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	a.mu.Lock()
	a.arrived++
	a.last = call.Tool
	a.mu.Unlock()
	return a.guarded.CallTool(ctx, call)
}
