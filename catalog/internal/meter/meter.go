// Package meter counts the calls that reach a server.
package meter

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Calls are the attempts that reached a server: a call that is made three times counts three times,
// and one that was refused, answered from a cache or not sent does not count.
type Calls struct {
	Count    int64
	Failures int64 // ended in an error, or in a result that reports one
	// Unknown are the failures after which it is unknown whether the tool did what it does.
	Unknown int64
	// Duration is how long all of them took together.
	Duration time.Duration
}

// Mean returns how long one call took on average, 0 if there was none.
func (c Calls) Mean() time.Duration {
	if c.Count == 0 {
		return 0
	}
	return c.Duration / time.Duration(c.Count)
}

// Plus returns the sum of both.
func (c Calls) Plus(d Calls) Calls {
	return Calls{c.Count + d.Count, c.Failures + d.Failures, c.Unknown + d.Unknown, c.Duration + d.Duration}
}

// A Meter counts calls by server and name, so that a new list of tools does not reset them. It holds
// what was called and not what is listed: no server can make it grow.
type Meter struct {
	mu    sync.RWMutex
	tools map[name]*counter
}

type name struct{ server, tool string }

type counter struct{ count, failures, unknown, nanoseconds atomic.Int64 }

// Read returns what was counted, by "server/tool".
func (m *Meter) Read() map[string]Calls {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make(map[string]Calls, len(m.tools))
	for tool, n := range m.tools {
		all[tool.server+"/"+tool.tool] = Calls{n.count.Load(), n.failures.Load(), n.unknown.Load(), time.Duration(n.nanoseconds.Load())}
	}
	return all
}

// of returns the counter of a tool.
func (m *Meter) of(tool name) *counter {
	m.mu.RLock()
	n := m.tools[tool]
	m.mu.RUnlock()
	if n != nil {
		return n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tools == nil {
		m.tools = make(map[name]*counter)
	}
	if m.tools[tool] == nil {
		m.tools[tool] = new(counter)
	}
	return m.tools[tool]
}

// Metered counts the calls that executor makes. It stands behind the guard, which panics for nil.
func (m *Meter) Metered(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		return nil
	}
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		start := time.Now()
		res, err := executor.CallTool(ctx, call)
		if middleware.NotSent(err) {
			return res, err
		}
		n := m.of(name{call.Tool.Server, call.Tool.Name()})
		n.count.Add(1)
		n.nanoseconds.Add(int64(time.Since(start)))
		if err != nil || res == nil || res.IsError {
			n.failures.Add(1)
		}
		if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](middleware.OutcomeUnknown(call, err)); unknown {
			n.unknown.Add(1)
		}
		return res, err
	})
}
