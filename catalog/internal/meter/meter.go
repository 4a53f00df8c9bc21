// Package meter counts the calls that reach a server.
package meter

import (
	"errors"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Calls are the attempts that reached a server; a call that was refused, cached or not sent does not count.
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

// Add adds what others took.
func (c *Calls) Add(o Calls) {
	c.Count += o.Count
	c.Failures += o.Failures
	c.Unknown += o.Unknown
	c.Duration += o.Duration
}

// A Meter counts calls by server and name, over all lists. It holds only called tools, so no server makes it grow.
type Meter struct {
	mu    sync.Mutex
	tools map[name]*Calls
}

type name struct{ server, tool string }

// Read returns what was counted, by "server/tool".
func (m *Meter) Read() map[string]Calls {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[string]Calls, len(m.tools))
	for tool, calls := range m.tools {
		all[tool.server+"/"+tool.tool] = *calls
	}
	return all
}

func (m *Meter) add(tool name, one Calls) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tools == nil {
		m.tools = make(map[name]*Calls)
	}
	if m.tools[tool] == nil {
		m.tools[tool] = new(Calls)
	}
	m.tools[tool].Add(one)
}

// Count counts a call that began at start, unless it was not sent.
func (m *Meter) Count(call middleware.Call, start time.Time, res *mcp.CallToolResult, err error) {
	if err != nil && middleware.NotSent(err) {
		return
	}
	one := Calls{Count: 1, Duration: time.Since(start)}
	if err != nil || res == nil || res.IsError {
		one.Failures = 1
	}
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](middleware.OutcomeUnknown(call, err)); unknown {
		one.Unknown = 1
	}
	m.add(name{call.Tool.Server, call.Tool.Name()}, one)
}
